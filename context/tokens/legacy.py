"""Token estimators and model windows of other systems, for presets that reproduce their figures and for comparison.

All have large errors on Chinese, Japanese and Korean, and most on English; `purser bench tokens` measures them. Use
`purser.context.tokens.count_request` for any other purpose.
"""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from purser.context.errors import InvalidSettings

_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff]")
_ROLE = 7
"""Approximate characters that LangChain counts for a role: `user` has 4, `assistant` 9."""

WINDOWS = {
    "gpt-3.5-turbo": 4_096,
    "gpt-3.5-turbo-16k": 16_384,
    "gpt-4": 8_192,
    "gpt-4-32k": 32_768,
    "gpt-4-turbo": 128_000,
    "deepseek-chat": 32_768,
}
"""Context windows as taught in courses of 2024. Newer models of these names have larger ones."""


@dataclass(frozen=True, slots=True)
class Estimator:
    """A rule of thumb for token counts."""

    rule: str
    """The rule in common notation."""
    estimate: Callable[[Sequence[str]], int]
    """Estimates the tokens of a conversation from its texts: contents, names and arguments of tool calls."""


def _runes(divisor: int) -> Callable[[Sequence[str]], int]:
    return lambda texts: 11 * sum(len(text) // divisor + 5 for text in texts) // 10


def _education(texts: Sequence[str]) -> int:
    return sum(max(1, int(len(text) / 2.5)) + 4 if text else 4 for text in texts)


def _cjk(per_token: float) -> Callable[[Sequence[str]], int]:
    def tokens(text: str) -> float:
        wide = len(_CJK.findall(text))
        return wide / per_token + (len(text) - wide) / 4 + 4

    return lambda texts: round(sum(map(tokens, texts))) + 3


ESTIMATORS = {
    "shannon": Estimator("(runes/4 + 5) x 1.1", _runes(4)),
    "shannon_code": Estimator("(runes/3 + 5) x 1.1", _runes(3)),
    "education": Estimator("max(1, chars/2.5) + 4", _education),
    "optimizer": Estimator("chars/2.5", lambda texts: round(sum(map(len, texts)) / 2.5)),
    "langchain": Estimator("chars/4 + 3", lambda texts: sum(math.ceil((len(text) + _ROLE) / 4) + 3 for text in texts)),
    "bytes": Estimator("bytes/4 + 4", lambda texts: sum(math.ceil(_bytes(text) / 4) + 4 for text in texts) + 3),
    "letta": Estimator("bytes/4 x 1.3", lambda texts: round(sum(map(_bytes, texts)) / 4 * 1.3)),
    "shannon_table": Estimator("CJK/1.5, else chars/4", _cjk(1.5)),
    "cjk": Estimator("CJK 1 each, else chars/4", _cjk(1)),
}
"""Estimators by name; those of presets have the name of their preset."""


def legacy_estimate(name: str, texts: Sequence[str]) -> int:
    """Estimates the tokens of a conversation with the estimator `name`.

    Args:
        name: a key of `ESTIMATORS`.
        texts: content of each message, and name followed by arguments of each tool call.

    Raises:
        InvalidSettings: there is no such estimator.
    """
    if name not in ESTIMATORS:
        raise InvalidSettings(f"there is no estimator {name[:80]!r}: use one of {', '.join(ESTIMATORS)}")
    return ESTIMATORS[name].estimate(texts)


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))
