"""Calibration: reported usage corrects token counts for models whose tokenizer is not public.

A count for such a model is that of a similar vocabulary plus a conservative margin. Every call reports the actual input
tokens: a ratio of reported to counted tokens is averaged over calls, each new report with less weight. A single report
weighs little and the ratio is bounded, so that wrong reports neither inflate every estimate nor let a window overflow.
Exact counts are never calibrated.
"""

from dataclasses import dataclass, replace
from typing import Self

from purser.context.tokens.tokenizers import tokenizer_of

ONE = 1_000_000
"""A ratio of 1; ratios are integers in parts per million."""
LEAST, MOST = 800_000, 1_500_000
"""Bounds of the ratio."""
LEAST_COUNTED = 200
"""Counted tokens below which a report reflects message overhead more than text."""
_PRIOR, _MEMORY = 4, 20
"""The initial ratio of 1 weighs as much as four reports; the latest report weighs at least a twentieth."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """The calibration of counts for one model."""

    ratio: int = ONE
    """Ratio of reported to counted tokens, in parts per million."""
    calls: int = 0
    """Number of reports included."""
    counted: int = 0
    """Counted tokens of the conversation's last call; 0 if it has none."""
    reported: int = 0
    """Tokens that the provider reported for it."""

    def learned(self, counted: int, reported: int) -> Self:
        """The calibration after one more report; unchanged if the report is too small.

        Args:
            counted: input tokens of the call before calibration.
            reported: input tokens reported by the provider.
        """
        if counted < LEAST_COUNTED or reported <= 0:
            return self
        seen = min(MOST, max(LEAST, reported * ONE // counted))
        weight = min(self.calls + _PRIOR + 1, _MEMORY)
        return type(self)(self.ratio + round((seen - self.ratio) / weight), self.calls + 1)

    def following(self, counted: int, reported: int) -> Self:
        """The calibration of the next call of a conversation; unchanged if the report is too small or implausible.

        What the last call contained has the reported size, and only what came after is converted by the ratio.

        Args:
            counted: input tokens of the conversation's last call before calibration.
            reported: its input tokens reported by the provider.
        """
        if counted < LEAST_COUNTED or not LEAST <= reported * ONE // counted <= MOST:
            return self
        return replace(self, counted=counted, reported=reported)

    def tokens(self, counted: int) -> int:
        """Converts counted tokens to tokens of the model, rounded up."""
        if self.counted and counted < self.counted:
            return -(-counted * self.reported // self.counted)
        return self.reported - (-(counted - self.counted) * self.ratio // ONE)

    def room(self, tokens: int) -> int:
        """Converts tokens of the model to counted tokens, rounded down: the inverse of `tokens`."""
        if self.reported and tokens < self.reported:
            return tokens * self.counted // self.reported
        return self.counted + (tokens - self.reported) * ONE // self.ratio


def is_calibrated(model: str) -> bool:
    """Whether counts for `model` are calibrated: not if its tokenizer is public, because counts are then exact."""
    return tokenizer_of(model).margin > 0
