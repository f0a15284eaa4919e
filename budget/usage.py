"""Usage of an attempt, normalized once, when the provider's report arrives.

Providers disagree on whether the input figure includes cached tokens (OpenAI, Gemini) or not (Anthropic), and on
whether the output figure includes reasoning. `normalize` handles both; all other code counts in one way.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import reduce
from operator import add
from typing import Literal, Self

from purser.budget.errors import InvalidUsage
from purser.wire.limits import MAX_CALL_TOKENS

Shape = Literal["purser", "openai", "anthropic", "gemini"]
"""Format of a usage report. `purser` means the field names of `Usage`, or `{"total": n}`."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one attempt, or the sum of many. Every charged token is counted in exactly one class."""

    input: int = 0
    """Fresh input: neither read from a provider's cache nor written to one."""
    cache_read: int = 0
    """Input that the provider read from its cache."""
    cache_write_5m: int = 0
    """Input written to a cache with a lifetime of five minutes, the default of providers."""
    cache_write_1h: int = 0
    """Input written to a cache with a lifetime of one hour."""
    output: int = 0
    """Output, including reasoning."""
    reasoning: int | None = None
    """Part of `output` that was reasoning; `None` if the provider does not report it."""
    unsplit: int = 0
    """Charged tokens that the report assigns to no class. They are never distributed over the others."""
    estimated: bool = False
    """The figures are Purser's estimate, for example of an interrupted stream, not the provider's."""

    def __post_init__(self) -> None:
        for name in COUNTS:
            _number(name, getattr(self, name))
        if self.reasoning is not None and _number("reasoning", self.reasoning) > self.output:
            raise InvalidUsage(f"reasoning {self.reasoning} exceeds output {self.output}: reasoning is part of output")

    @classmethod
    def from_total(cls, total: int) -> Self:
        """Usage of which only the total number of tokens is known."""
        return cls(unsplit=total)

    @classmethod
    def from_dict(cls, data: Mapping[str, object]) -> Self:
        """The inverse of `to_dict`; raises `InvalidUsage` on unknown fields and on values that are not counts."""
        if unknown := sorted(set(data).difference(_FIELDS)):
            raise InvalidUsage(f"usage field {unknown[0][:40]!r} is not known: use {', '.join(sorted(_FIELDS))}")
        if not isinstance(data.get("estimated", False), bool):
            raise InvalidUsage("usage field 'estimated' must be true or false")
        return cls(**data)  # type: ignore[arg-type] # __post_init__ checks every figure

    def to_dict(self) -> dict[str, int | bool | None]:
        """All fields by name, as JSON values."""
        return {name: getattr(self, name) for name in _FIELDS}

    @property
    def prompt(self) -> int:
        """Input tokens of all classes, cached or not: the figure that price tiers refer to."""
        return self.input + self.cache_read + self.cache_write_5m + self.cache_write_1h

    @property
    def total(self) -> int:
        """Charged tokens."""
        return self.prompt + self.output + self.unsplit

    @property
    def split_known(self) -> bool:
        """Whether every charged token has a class."""
        return self.unsplit == 0

    def __add__(self, other: "Usage") -> "Usage":
        counts = {name: getattr(self, name) + getattr(other, name) for name in COUNTS}
        known = [usage.reasoning for usage in (self, other) if usage.output]
        reasoning = None if None in known else sum(part for part in known if part)
        return Usage(**counts, reasoning=reasoning, estimated=self.estimated or other.estimated)


_FIELDS = tuple(field.name for field in fields(Usage))
CLASSES = ("input", "cache_read", "cache_write_5m", "cache_write_1h", "output")
"""The classes of tokens, each with a price."""
COUNTS = (*CLASSES, "unsplit")
"""The figures whose sum is charged."""


def normalize(payload: Mapping[str, object], shape: Shape | None = None) -> Usage:
    """Normalizes the usage block of a provider's reply, of LiteLLM, or of a caller of the HTTP API.

    A contradiction never lowers a charge. If the total is below the sum of the parts, the parts count; if it exceeds
    the sum, the rest is `unsplit`, unless it equals reasoning, cached tokens or tool use exactly: then the figure that
    should include them does not. The same goes for cached tokens that exceed the input, and reasoning that exceeds the
    output.

    Args:
        payload: The usage block alone. `null` counts as absent; unknown fields are ignored.
        shape: The format of the block; recognized by its keys if not given.

    Raises:
        InvalidUsage: A figure is not a count, input, output and total are missing, or the keys fit several shapes.
    """
    report = _without_nulls("usage", payload)
    usage = _READERS[shape or _shape_of(report)](report)
    if usage.total > MAX_CALL_TOKENS:
        raise InvalidUsage(
            f"usage totals {usage.total} tokens: more than {MAX_CALL_TOKENS} in one report is not accepted"
        )
    return usage


_MARKS: dict[Shape, frozenset[str]] = {
    "openai": frozenset(
        ("prompt_tokens", "completion_tokens", "total_tokens", "prompt_tokens_details", "input_tokens_details")
    ),
    "anthropic": frozenset(("cache_read_input_tokens", "cache_creation_input_tokens", "cache_creation", "iterations")),
    "gemini": frozenset(
        f"{figure}{ending}"
        for figure in ("prompt", "candidates", "response", "total")
        for ending in ("TokenCount", "_token_count")
    ),
    "purser": frozenset((*COUNTS, "total")),
}


def _shape_of(report: Mapping[str, object]) -> Shape:
    shapes: list[Shape] = [shape for shape, marks in _MARKS.items() if not marks.isdisjoint(report)]
    # LiteLLM uses OpenAI's field names for every provider and repeats the cached tokens in Anthropic's.
    if shapes == ["openai", "anthropic"] and "prompt_tokens" in report:
        return "openai"
    if len(shapes) > 1:
        raise InvalidUsage(f"usage mixes fields of {' and '.join(shapes)}: name its shape")
    if shapes:
        return shapes[0]
    if {"input_tokens", "output_tokens"} & report.keys():
        return "openai"  # without caching, OpenAI's responses and Anthropic's messages have the same fields
    keys = ", ".join(sorted(repr(key)[:40] for key in report)[:8]) or "nothing"
    raise InvalidUsage(f"usage has no known figure, only {keys}: pass {{'total': n}} if only the total is known")


def _purser(report: Mapping[str, object]) -> Usage:
    usage = Usage.from_dict({name: value for name, value in report.items() if name != "total"})
    return replace(usage, unsplit=usage.unsplit + max(0, _count(report, "total") - usage.total))


def _openai(report: Mapping[str, object]) -> Usage:
    """Chat completions, responses, and LiteLLM: the prompt includes cached tokens, the output includes reasoning."""
    _require(report, ("prompt_tokens", "input_tokens"), ("completion_tokens", "output_tokens"), ("total_tokens",))
    inputs = _block(report, "prompt_tokens_details", "input_tokens_details")
    outputs = _block(report, "completion_tokens_details", "output_tokens_details")
    hour = _count(_block(inputs, "cache_creation_token_details"), "ephemeral_1h_input_tokens")
    writes = max(
        _count(inputs, "cache_write_tokens", "cache_creation_tokens"),
        _count(report, "cache_creation_input_tokens"),
        hour,
    )
    return _assemble(
        prompt=_count(report, "prompt_tokens", "input_tokens"),
        cache_read=max(
            _count(inputs, "cached_tokens"), _count(report, "cache_read_input_tokens", "prompt_cache_hit_tokens")
        ),
        cache_write_5m=writes - hour,
        cache_write_1h=hour,
        output=_count(report, "completion_tokens", "output_tokens"),
        reasoning=_count(outputs, "reasoning_tokens") if "reasoning_tokens" in outputs else None,
        total=_count(report, "total_tokens"),
        tool_use=_count(inputs, "tool_use_tokens"),
    )


def _anthropic(report: Mapping[str, object]) -> Usage:
    """Messages API. If iterations are listed, the figures outside the list omit some of them."""
    iterations = report.get("iterations", ())
    if not isinstance(iterations, Sequence):
        raise InvalidUsage(f"usage field 'iterations' is a {type(iterations).__name__}: it must be a list")
    parts = [_anthropic_iteration(_without_nulls("usage iteration", part)) for part in iterations]
    return reduce(add, parts) if parts else _anthropic_iteration(report)


def _anthropic_iteration(report: Mapping[str, object]) -> Usage:
    """One request: the input does not include cached tokens."""
    _require(report, ("input_tokens",), ("output_tokens",), ())
    lifetimes = _block(report, "cache_creation")
    outputs = _block(report, "output_tokens_details")
    cache_read = _count(report, "cache_read_input_tokens")
    hour = _count(lifetimes, "ephemeral_1h_input_tokens")
    writes = max(_count(report, "cache_creation_input_tokens"), _count(lifetimes, "ephemeral_5m_input_tokens") + hour)
    return _assemble(
        prompt=_count(report, "input_tokens") + cache_read + writes,
        cache_read=cache_read,
        cache_write_5m=writes - hour,
        cache_write_1h=hour,
        output=_count(report, "output_tokens"),
        reasoning=_count(outputs, "thinking_tokens") if "thinking_tokens" in outputs else None,
    )


def _gemini(report: Mapping[str, object]) -> Usage:
    """Generate content: the prompt includes cached tokens, not tool use; the output may or may not include thoughts."""
    camel = {_camel(name): value for name, value in report.items()}
    outputs = ("candidatesTokenCount", "responseTokenCount")
    _require(camel, ("promptTokenCount",), (*outputs, "thoughtsTokenCount"), ("totalTokenCount",))
    prompt = _count(camel, "promptTokenCount") + _count(camel, "toolUsePromptTokenCount")
    output, thoughts = _count(camel, *outputs), _count(camel, "thoughtsTokenCount")
    total = _count(camel, "totalTokenCount")
    return _assemble(
        prompt=prompt,
        cache_read=_count(camel, "cachedContentTokenCount"),
        # Some versions count thoughts as part of the candidates: the total shows which.
        output=output if prompt + output == total else output + thoughts,
        reasoning=thoughts if "thoughtsTokenCount" in camel else None,
        total=total,
    )


_READERS: dict[Shape, Callable[[Mapping[str, object]], Usage]] = {
    "purser": _purser,
    "openai": _openai,
    "anthropic": _anthropic,
    "gemini": _gemini,
}


def _assemble(
    *,
    prompt: int,
    cache_read: int,
    output: int,
    reasoning: int | None,
    cache_write_5m: int = 0,
    cache_write_1h: int = 0,
    total: int = 0,
    tool_use: int = 0,
) -> Usage:
    """Splits `prompt` into its classes and assigns the rest of `total`."""
    cached = cache_read + cache_write_5m + cache_write_1h
    fresh = prompt - cached if cached <= prompt else prompt
    if reasoning is not None and reasoning > output:
        output += reasoning
    rest = max(0, total - fresh - cached - output)
    if rest == reasoning:
        output, rest = output + rest, 0
    elif rest in (cached, tool_use):
        fresh, rest = fresh + rest, 0
    return Usage(fresh, cache_read, cache_write_5m, cache_write_1h, output, reasoning, unsplit=rest)


def _require(report: Mapping[str, object], *groups: tuple[str, ...]) -> None:
    """Raises unless the report has input and output, the first two groups, or the total, the last one."""
    prompt, output, total = ([name for name in group if name in report] for group in groups)
    if not total and not (prompt and output):
        missing = groups[1] if prompt else groups[0]
        raise InvalidUsage(f"usage lacks {missing[0]!r}: a report has input and output, or the total")


def _block(report: Mapping[str, object], *names: str) -> Mapping[str, object]:
    """The nested block under the first of `names` that is present, without its nulls; empty if none is."""
    name = next((name for name in names if name in report), None)
    return _without_nulls(f"usage field {name!r}", report[name]) if name else {}


def _without_nulls(what: str, block: object) -> Mapping[str, object]:
    """The fields of a block that are not null."""
    if not isinstance(block, Mapping):
        raise InvalidUsage(f"{what} is a {type(block).__name__}: it must be a mapping of names to numbers of tokens")
    return {name: value for name, value in block.items() if value is not None}


def _count(report: Mapping[str, object], *names: str) -> int:
    """The figure under any of `names`, 0 if absent. If several are present, the largest counts."""
    return max((_number(name, report[name]) for name in names if name in report), default=0)


def _number(name: str, value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise InvalidUsage(f"usage field {name!r} is a {type(value).__name__}: it must be a whole number of tokens")
    if value < 0:
        raise InvalidUsage(f"usage field {name!r} is {value}: it must not be negative")
    return value


def _camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(part.capitalize() for part in rest)
