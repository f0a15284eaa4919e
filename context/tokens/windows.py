"""How much a model takes at once: a registry with overrides, and a default for models that are in no table."""

import logging
import re
from collections.abc import Mapping
from functools import lru_cache

DEFAULT_WINDOW = 128_000
"""Tokens of a model that is in no table."""

_FAMILIES = (
    (r"gpt-3\.5-turbo-(0301|0613)$", 4_096),
    (r"gpt-4-32k", 32_768),
    (r"claude", 200_000),
    (r"gemini-1\.5-pro", 2_097_152),
    (r"gemini", 1_048_576),
    (r"llama-?2", 4_096),
    (r"llama-?3(?!\.)", 8_192),
    (r"mi[sx]tral", 32_768),
)
"""Models that price tables leave out: retired ones, and open ones, which have as many names as hosts."""

_log = logging.getLogger(__name__)


def window_of(
    model: str, listed: int | None = None, *, overrides: Mapping[str, int] | None = None, default: int = DEFAULT_WINDOW
) -> int:
    """Tokens that `model` takes at most.

    A model that is in no table is warned of, once.

    Args:
        model: named with or without its provider.
        told: by a price table, such as `budget.PriceBook.context_window`.
        overrides: windows by model name, which go before all else.
        default: for a model that nobody knows.
    """
    bare = model.rpartition("/")[2]
    for name in (model, bare):
        if overrides and name in overrides:
            return overrides[name]
    if listed is not None:
        return listed
    known = next((tokens for family, tokens in _FAMILIES if re.search(family, bare.lower())), None)
    return known if known is not None else _assumed(model, default)


@lru_cache(maxsize=1024)
def _assumed(model: str, default: int) -> int:
    _log.warning(
        "the context window of model %r is not known, %d tokens are assumed: state max_input_tokens in the price file",
        model[:200],
        default,
    )
    return default
