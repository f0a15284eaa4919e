"""Prices and limits of models, from the table that LiteLLM ships and from an override file in the same format.

The table is read as a file, because importing LiteLLM takes seconds. Prices are per token: they do not include fees per
request, search, image or second, nor discounts (batch, off-peak) and surcharges (priority, region); an override can
state those.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cache, cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NoReturn, Self

from purser.budget.errors import InvalidPrices, InvalidRequest, UnknownPrice
from purser.budget.json_objects import read_object
from purser.budget.money import NANO
from purser.budget.pricing.rates import Price, Rates


class PriceBook:
    """Prices and limits by model name: from the override file first, then from LiteLLM's table."""

    def __init__(self, override: Mapping[str, "_Entry"], table: Mapping[str, "_Entry"], unknown: Price | None) -> None:
        self._override = override
        self._table = table
        self._unknown = unknown
        self._wildcards = sorted((name for name in override if name.endswith("*")), key=len, reverse=True)

    @classmethod
    def load(cls, override: Path | None = None, unknown: Price | None = None) -> Self:
        """Reads LiteLLM's table, once per process, and the override file.

        Args:
            override: A JSON object of model names to fields as in LiteLLM's table: dollars per token
                (`{"my-model": {"input_cost_per_token": 2.5e-06, "output_cost_per_token": 1e-05}}`, zero is allowed) and
                limits (`max_input_tokens`, `max_output_tokens`). A name that ends in `*` matches all names with that
                prefix; the longest match counts. A name without a provider is the model at every provider. The prices
                of an entry replace those of the table together, its limits one by one.
            unknown: The price of models without a price in either source; `None`: they have none.

        Raises:
            InvalidPrices: A file cannot be read; the message names the file, the model and the field.
        """
        table = _table()
        return cls(_read_override(override, table) if override else {}, table, unknown)

    def find(self, model: str | None) -> Price | None:
        """The price of `model`, named with or without its provider (`openai/gpt-4o`, `gpt-4o`); `None` if unknown."""
        if model is None:
            return None
        return next((entry.price for entry in self._entries(model) if entry.price), self._unknown)

    def price(self, model: str) -> Price:
        """The price of `model` as in `find`; raises `UnknownPrice` if there is none."""
        price = self.find(model)
        if price is None:
            raise UnknownPrice(model)
        return price

    def max_output_tokens(self, model: str) -> int | None:
        """The longest reply of `model` in tokens; `None` if unknown."""
        return self._limit(model, "max_output_tokens")

    def context_window(self, model: str) -> int | None:
        """Most input tokens that `model` accepts; `None` if unknown."""
        return self._limit(model, "max_input_tokens")

    def provider(self, model: str) -> str:
        """LiteLLM's name of the provider of `model`, from its table or the name itself; empty if unknown."""
        entry = self._table.get(model)
        return entry.provider if entry else model.partition("/")[0] if "/" in model else ""

    def names(self) -> Iterator[str]:
        """Names of all models that are paid by token, for chat or vectors: those of the override file first."""
        yield from (name for name in self._override if not name.endswith("*"))
        named = (name for name, entry in self._table.items() if entry.fields.get("mode") in _MODES)
        yield from (name for name in named if name not in self._override)

    def _limit(self, model: str, name: str) -> int | None:
        limits = (entry.limit(name) for entry in self._entries(model))
        return next((limit for limit in limits if limit is not None), None)

    def _entries(self, model: str) -> Iterator["_Entry"]:
        """The entries that apply to `model`, most specific first."""
        provider, slash, bare = model.partition("/")
        names = (model, bare) if slash else (model,)
        yield from (self._override[name] for name in names if name in self._override)
        for wildcard in self._wildcards:
            if any(name.startswith(wildcard[:-1]) for name in names):
                yield self._override[wildcard]
        if model in self._table:
            yield self._table[model]
        # A price of the table belongs to a provider: the same model may cost something else at another one.
        elif slash and bare in self._table and self._table[bare].provider.startswith(provider):
            yield self._table[bare]


_INPUT, _OUTPUT = "input_cost_per_token", "output_cost_per_token"
_CACHE_READ, _CACHE_WRITE = "cache_read_input_token_cost", "cache_creation_input_token_cost"
_CACHE_WRITE_1H, _REASONING = "cache_creation_input_token_cost_above_1hr", "output_cost_per_reasoning_token"
_RATES = (_INPUT, _CACHE_READ, _CACHE_WRITE, _CACHE_WRITE_1H, _OUTPUT, _REASONING)
_RATE_ABOVE = re.compile(rf"({'|'.join(_RATES)})_above_(\d+)(k?)_tokens")
_MODES = ("chat", "embedding")
_LIMITS = ("max_input_tokens", "max_output_tokens", "max_tokens")


@dataclass(frozen=True)
class _Entry:
    """The entry of one model in one source, with LiteLLM's field names."""

    fields: Mapping[str, Any]

    @property
    def provider(self) -> str:
        return str(self.fields.get("litellm_provider", ""))

    def limit(self, name: str) -> int | None:
        value = self.fields.get(name, self.fields.get("max_tokens"))  # max_tokens is the older name of both
        return value if isinstance(value, int) else None

    @cached_property
    def price(self) -> Price | None:
        """`None` if the model is not priced per token."""
        steps = [(above, _rates(fields)) for above, fields in self._steps()]
        return Price(steps[0][1], tuple(steps[1:])) if steps else None

    def _steps(self) -> list[tuple[int, Mapping[str, Any]]]:
        """The fields that apply above each prompt size, ascending from 0."""
        tiers = [tier for tier in (self.fields.get("tiered_pricing") or ()) if _INPUT in tier]
        if tiers:  # each tier is complete
            output = {_OUTPUT: self.fields.get(_OUTPUT)}
            return sorted(((int(tier["range"][0]), output | tier) for tier in tiers), key=lambda step: step[0])
        if self.fields.get(_INPUT) is None:
            return []
        changes: dict[int, dict[str, Any]] = {}
        for name, value in self.fields.items():
            if value is not None and (match := _RATE_ABOVE.fullmatch(name)):
                above = int(match[2]) * (1000 if match[3] else 1)
                inclusive = self.provider == "xai"  # its higher rate begins at the size itself
                changes.setdefault(above - inclusive, {})[match[1]] = value
        steps: list[tuple[int, Mapping[str, Any]]] = [(0, self.fields)]
        for above in sorted(changes):
            steps.append((above, {**steps[-1][1], **changes[above]}))
        return steps


def _rates(fields: Mapping[str, Any]) -> Rates:
    """Cached input without its own rate costs as much as fresh input, and reasoning as much as other output."""

    def rate(name: str, otherwise: Fraction) -> Fraction:
        dollars = fields.get(name)
        return otherwise if dollars is None else Fraction(dollars) * NANO

    fresh, output = rate(_INPUT, Fraction(0)), rate(_OUTPUT, Fraction(0))
    written = rate(_CACHE_WRITE, fresh)
    return Rates(
        input=fresh,
        cache_read=rate(_CACHE_READ, fresh),
        cache_write_5m=written,
        cache_write_1h=rate(_CACHE_WRITE_1H, written),
        output=output,
        reasoning=rate(_REASONING, output),
    )


@cache
def _table() -> Mapping[str, _Entry]:
    """LiteLLM's table; empty if LiteLLM is not installed."""
    litellm = find_spec("litellm")
    if litellm is None or litellm.origin is None:
        return {}
    models = _read(Path(litellm.origin).with_name("model_prices_and_context_window_backup.json"))
    return {model: _Entry(fields) for model, fields in models.items() if model != "sample_spec"}


def _read_override(path: Path, table: Mapping[str, _Entry]) -> Mapping[str, _Entry]:
    words = {word for entry in table.values() for word in entry.fields}
    models = _read(path, read_object)
    for model, fields in models.items():
        where = f"price file {str(path)!r}, model {model[:200]!r}"
        if model != model.strip():
            raise InvalidPrices(f"{where}: has a space around its name, so no call would find it")
        if not isinstance(fields, dict):
            raise InvalidPrices(f"{where}: is a {type(fields).__name__}, it must be an object of fields")
        for name, value in fields.items():
            _check_field(f"{where}, field {name[:80]!r}", name, value, words)
        priced = [name for name in fields if name in _RATES or _RATE_ABOVE.fullmatch(name)]
        missing = [name for name in (_INPUT, _OUTPUT) if name not in fields]
        if priced and missing:
            raise InvalidPrices(f"{where}: has {priced[0]!r} but no {missing[0]!r}; an entry states both or neither")
    return {model: _Entry(fields) for model, fields in models.items()}


def _check_field(where: str, name: str, value: object, words: set[str]) -> None:
    number = isinstance(value, int | Decimal) and not isinstance(value, bool)
    if name in _RATES or _RATE_ABOVE.fullmatch(name):
        if not number or not 0 <= value <= _DEAREST:  # type: ignore[operator] # a number
            raise InvalidPrices(f"{where}: must be dollars per token, 0 to {_DEAREST}; $2.50 per million is 2.5e-06")
    elif name in _LIMITS:
        if not isinstance(value, int) or isinstance(value, bool) or value <= 0:
            raise InvalidPrices(f"{where}: must be a positive whole number of tokens")
    elif name == "tiered_pricing":
        raise InvalidPrices(f"{where}: is not read from a price file; use fields such as {_INPUT}_above_200k_tokens")
    elif name not in words:
        raise InvalidPrices(f"{where}: is not a field of LiteLLM's table; check its spelling")


_DEAREST = Decimal("0.01")
"""Dollars per token. Anything above is almost certainly a price per thousand or per million tokens."""


def _read(path: Path, make: Callable[[list[tuple[str, Any]]], dict[str, Any]] | None = None) -> dict[str, Any]:
    """Reads a JSON object with decimals exactly as written: floats would round prices.

    Args:
        path: the file.
        make: the `object_pairs_hook`; `None`: of a name that occurs twice in an object the last one counts.
    """
    try:
        text = path.read_text(encoding="utf-8")
        models = json.loads(text, parse_float=Decimal, parse_constant=_reject, object_pairs_hook=make)
    except OSError as error:
        raise InvalidPrices(f"price file {str(path)!r} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise InvalidPrices(f"price file {str(path)!r} is not JSON: {error}") from error
    except InvalidRequest as error:
        raise InvalidPrices(f"price file {str(path)!r}: {error}") from None
    if not isinstance(models, dict):
        raise InvalidPrices(f"price file {str(path)!r} is a {type(models).__name__}: it must be an object of models")
    return models


def _reject(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no number")
