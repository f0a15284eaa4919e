"""The share of inherently slow tests that a run executes: sweeps, long random runs, tables of crashes.

`make test` leaves out the tests marked `proof`, `make proof` runs them in full. With `PURSER_TEST_PROOF` both run that
share of each, drawn by the run's seed.
"""

import os
import random
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")
SHARE = float(os.environ.get("PURSER_TEST_PROOF") or 0)
"""Of the full size, between 0 and 1."""


def sized(small: int, full: int) -> int:
    """How often to do something: `small` times at least, `full` times in a whole proof."""
    return max(small, round(SHARE * full))


def some(cases: Sequence[T], small: int) -> list[T]:
    """`small` of the cases at least, all in a whole proof, in their order: the same ones in every process of a run."""
    chance = random.Random(os.environ.get("PURSER_TEST_SEED"))
    drawn = chance.sample(range(len(cases)), min(len(cases), sized(small, len(cases))))
    return [cases[place] for place in sorted(drawn)]
