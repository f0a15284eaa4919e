"""The usage that a provider reports, whatever object it comes in, and the text of a stream."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from purser_client.counting import Count
from purser_client.errors import UnknownUsage

_NAMES = ("usage", "usage_metadata", "usageMetadata")
_FIGURES = frozenset(
    ("prompt_tokens", "completion_tokens", "total_tokens", "input_tokens", "output_tokens", "total", "input", "output")
) | frozenset(("promptTokenCount", "totalTokenCount", "prompt_token_count", "total_token_count", "unsplit"))
_TEXTS = ("content", "reasoning_content", "reasoning", "text", "thinking", "partial_json", "refusal", "arguments")


def usage_of(reply: object) -> dict[str, Any]:
    """The usage block of a reply, or the block itself; raises `UnknownUsage`.

    Takes replies of OpenAI (chat and responses), Anthropic, LiteLLM, LangChain and Gemini, and dictionaries like them.
    """
    found = _usage_in(plain(reply))
    if found is None:
        raise UnknownUsage(
            f"a {type(reply).__name__} has no usage: settle its usage block, or {{'total': n}} if only the sum is known"
        )
    return found


def is_empty(block: Mapping[str, Any]) -> bool:
    """Whether no figure of a usage block says that tokens were used: a provider that does not report."""
    return not any(block.get(name) for name in _FIGURES)


def plain(value: object) -> Any:
    """An object of a provider's library as dictionaries."""
    for method in ("model_dump", "to_dict", "dict"):
        if not isinstance(value, (Mapping, str)) and callable(made := getattr(value, method, None)):
            return made()
    if hasattr(value, "__dict__") and not isinstance(value, Mapping):
        return {name: plain(each) for name, each in vars(value).items() if not name.startswith("_")}
    return value


def _usage_in(block: Any) -> dict[str, Any] | None:
    if not isinstance(block, Mapping):
        return None
    for name in _NAMES:
        if (inner := block.get(name)) is not None:
            return _usage_in(plain(inner)) or None
    figures = {name for name, value in block.items() if isinstance(value, int)}  # `output` of a reply is a list
    if not _FIGURES & figures:
        return None
    return of_langchain(block) if "input_token_details" in block else dict(block)


def of_langchain(block: Mapping[str, Any]) -> dict[str, Any]:
    """LangChain's usage in the words of the gateway."""
    details = block.get("input_token_details") or {}
    read, hour = details.get("cache_read") or 0, details.get("ephemeral_1h_input_tokens") or 0
    written = max(details.get("cache_creation") or 0, hour + (details.get("ephemeral_5m_input_tokens") or 0))
    return in_classes(block["input_tokens"], block["output_tokens"], read, written, hour)


def in_classes(prompt: int, output: int, cache_read: int, cache_write: int, cache_write_1h: int = 0) -> dict[str, int]:
    """Usage in the words of the gateway, each token in one class.

    Args:
        prompt: Tokens of the whole input, with those that were read from and written to caches.
        output: Tokens of the reply.
        cache_read: Tokens that were read from caches.
        cache_write: Tokens that were written to caches.
        cache_write_1h: Those of `cache_write` that were written for an hour.
    """
    return {
        "input": max(0, prompt - cache_read - cache_write),
        "cache_read": cache_read,
        "cache_write_5m": cache_write - cache_write_1h,
        "cache_write_1h": cache_write_1h,
        "output": output,
    }


@dataclass(slots=True)
class Streamed:
    """What has arrived of a streamed reply."""

    count: Count
    usage: dict[str, Any] | None = None
    """The provider's report, once it has sent one that covers the whole reply."""
    parts: int = 0
    """Chunks that have arrived."""
    _text: str = ""
    _begun: dict[str, Any] | None = None

    def add(self, chunk: object) -> None:
        """Takes a chunk of any provider's stream, or a text."""
        self.parts += 1
        if isinstance(chunk, str):
            self._text += chunk
            return
        block = plain(chunk)
        match block:
            case {"type": "message_start", "message": message}:  # Anthropic: input, and a first figure of the output
                self._begun = _usage_in(plain(message))
            case {"type": "message_delta", "usage": final}:
                self._report((self._begun or {}) | {k: v for k, v in plain(final).items() if v is not None})
            case {"response": response, "type": "response.completed" | "response.incomplete" | "response.failed"}:
                self._report(_usage_in(plain(response)))
            case {"usage": usage} if usage:  # OpenAI and LiteLLM, in the last chunk
                self._report(_usage_in(plain(usage)))
            case {"type": "AIMessageChunk", "usage_metadata": usage}:  # LangChain: a difference in each chunk
                self._begun = _sum(self._begun or {}, usage or {})
                if self._begun.get("output_tokens"):
                    self._report(_usage_in(self._begun))
            case {"usage_metadata": usage} | {"usageMetadata": usage} if usage:  # Gemini: cumulative in every chunk
                self._report(_usage_in(plain(usage)))
        self._text += "".join(_texts(block))

    def _report(self, usage: dict[str, Any] | None) -> None:
        """Takes a usage block, unless it says that nothing was used: that comes from who does not report."""
        if usage is not None and not is_empty(usage):
            self.usage = usage

    def estimate(self, input_tokens: int, most_output: int) -> dict[str, Any] | None:
        """The usage of a reply that broke off: its input, and what has arrived; `None`: nothing of it could be read."""
        output = min(most_output, self.count(self._text)) if self._text else 0
        if self._begun and not is_empty(self._begun):
            begun = {**self._begun, "output_tokens": max(output, self._begun.get("output_tokens") or 0)}
            return _usage_in(begun) or begun
        if not self._text:  # chunks of a kind that is not known here, whose text may be long
            return None
        return {"input": input_tokens, "output": output, "estimated": True}


def _sum(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """The sum of two usage blocks, field by field."""
    added = dict(one)
    for name, value in other.items():
        before = added.get(name)
        added[name] = _sum(before or {}, value) if isinstance(value, Mapping) else (before or 0) + (value or 0)
    return added


def _texts(block: Any) -> Iterator[str]:
    """Texts of a chunk: those that the model has written."""
    match block:
        case {"choices": choices}:
            for choice in choices:
                fields = plain(choice)
                yield from _written(fields.get("delta") or fields.get("text"))  # `text`: completions without a chat
        case {"candidates": [*candidates]}:  # Gemini
            for candidate in candidates:
                yield from _written(plain(plain(candidate).get("content") or {}).get("parts"))
        case {"type": str(kind), "delta": delta} if kind.endswith(("delta", "delta.done")):
            yield from _written(plain(delta))
        case {"type": "AIMessageChunk", "content": content, "tool_call_chunks": called}:
            yield from _written(content)
            yield from _written([{"text": one.get("args")} for one in called])


def _written(delta: Any) -> Iterator[str]:
    match plain(delta):
        case str(text):
            yield text
        case Mapping() as fields:
            for name, value in fields.items():
                if isinstance(value, str) and name in _TEXTS:
                    yield value
                elif name in ("tool_calls", "function", "function_call") and value:
                    yield from _written(value)
        case [*several]:
            for one in several:
                yield from _written(one)
