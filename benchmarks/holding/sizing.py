"""Ways to size a hold: the whole cap, the mean of earlier replies, a learned quantile with and without top-ups."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from purser.benchmarks.holding.transcripts import OUTPUT_CAP
from purser.budget.learned_holds import ENOUGH, output_to_hold

LEAST_OUTPUT = 256


@dataclass(frozen=True)
class Sizing:
    """How much output a hold covers at first, and whether it grows."""

    name: str
    quantile: Decimal = Decimal(0)
    """0: the whole cap, or the mean."""
    mean: bool = False
    grows: bool = False
    """Whether the hold is topped up while the reply streams, and the reply cut where no top-up fits."""

    def output(self, seen: Sequence[int], cap: int = OUTPUT_CAP) -> int:
        """Output tokens to hold after these earlier replies of the agent, under an output cap."""
        if self.mean:
            return cap if len(seen) < ENOUGH else max(1, min(cap, round(sum(seen) / len(seen))))
        return output_to_hold(seen, self.quantile, LEAST_OUTPUT, cap)


QUANTILES = ("0.5", "0.8", "0.9", "0.99")
SIZINGS = (
    Sizing("worst case"),
    Sizing("mean", mean=True),
    *(Sizing(f"quantile {text}", Decimal(text)) for text in QUANTILES),
    *(Sizing(f"quantile {text}, topped up", Decimal(text), grows=True) for text in QUANTILES),
)
