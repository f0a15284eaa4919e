"""Calibration: what providers report corrects counts for models whose tokenizer is not public.

A count for such a model is that of a near vocabulary plus a margin chosen for caution. Every call tells how near that
was: the ratio of the input tokens that were reported to those counted moves towards it, the more slowly the more calls
have spoken. Single reports weigh little, and none moves it out of its bounds, so that a provider that reports nonsense
neither blows up every estimate nor lets a window overflow. Exact counts need none of this and are never changed.
"""

from dataclasses import dataclass
from typing import Self

from purser.context.tokens.tokenizers import tokenizer_of

ONE = 1_000_000
"""A ratio of 1: ratios are whole parts per million."""
LEAST, MOST = 800_000, 1_500_000
"""Bounds of the ratio."""
LEAST_COUNTED = 200
"""Counted tokens below which a report says more of what stands around messages than of their text."""
_PRIOR, _MEMORY = 4, 20
"""A ratio of 1 weighs as much as four reports, and the latest report a twentieth at least."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """What is known of the counts for one model."""

    ratio: int = ONE
    """Reported by counted tokens, in parts per million."""
    calls: int = 0
    """Reports that it was learned from."""

    def learned(self, counted: int, reported: int) -> Self:
        """With one more report; unchanged if it says too little.

        Args:
            counted: input tokens of a call, before any calibration.
            reported: by its provider.
        """
        if counted < LEAST_COUNTED or reported <= 0:
            return self
        seen = min(MOST, max(LEAST, reported * ONE // counted))
        weight = min(self.calls + _PRIOR + 1, _MEMORY)
        return type(self)(self.ratio + round((seen - self.ratio) / weight), self.calls + 1)

    def tokens(self, counted: int) -> int:
        """Tokens of the model for so many counted, rounded up."""
        return -(-counted * self.ratio // ONE)

    def room(self, tokens: int) -> int:
        """How many counted tokens fit into so many of the model, rounded down: the inverse of `tokens`."""
        return tokens * ONE // self.ratio


def is_calibrated(model: str) -> bool:
    """Whether reports correct the counts for `model`: those whose tokenizer is public are exact."""
    return tokenizer_of(model).margin > 0
