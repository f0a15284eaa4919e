"""Context windows of models: a registry with overrides, and a default for unknown models."""

import logging
import re
from collections.abc import Mapping
from functools import lru_cache

DEFAULT_WINDOW = 128_000
"""Context window in tokens of a model that is in no table."""

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
"""Models that price tables omit: retired ones, and open ones, which have as many names as hosts."""

_log = logging.getLogger(__name__)


def window_of(
    model: str, listed: int | None = None, *, overrides: Mapping[str, int] | None = None, default: int = DEFAULT_WINDOW
) -> int:
    """The context window of `model` in tokens.

    Logs one warning per unknown model.

    Args:
        model: named with or without its provider.
        listed: window from a price table, such as `budget.PriceBook.context_window`.
        overrides: windows by model name, which take precedence.
        default: window of an unknown model.
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
