"""The share of inherently slow tests that a run executes: sweeps, long random runs, tables of crashes.

`make test` leaves out the tests marked `proof`, `make proof` runs them in full. With `PURSER_TEST_PROOF` both run that
share of each, drawn by the run's seed. Most start several systems and cannot be made smaller, so such a run executes an
eighth of them, drawn by `PURSER_TEST_DRAW`: CI sets it to the commit, so each runs about once in eight commits.
"""

import os
import random
from collections.abc import Sequence
from typing import TypeVar

import pytest

T = TypeVar("T")
SHARE = float(os.environ.get("PURSER_TEST_PROOF") or 0)
"""Of the full size, between 0 and 1."""
EIGHTH = 8


def sized(small: int, full: int) -> int:
    """How often to do something: `small` times at least, `full` times in a whole proof."""
    return max(small, round(SHARE * full))


def some(cases: Sequence[T], small: int) -> list[T]:
    """`small` of the cases at least, all in a whole proof, in their order: the same ones in every process of a run."""
    return drawn(cases, sized(small, len(cases)), os.environ.get("PURSER_TEST_SEED"))


def executed(tests: Sequence[pytest.Item]) -> list[pytest.Item]:
    """The tests of a run, without the long ones that it does not execute since it runs a share."""
    if not 0 < SHARE < 1:
        return list(tests)
    functions = sorted({_function(test) for test in tests if test.get_closest_marker("proof")})
    by = os.environ.get("PURSER_TEST_DRAW") or os.environ.get("PURSER_TEST_SEED")
    left_out = set(functions) - set(drawn(functions, -(-len(functions) // EIGHTH), by))
    return [test for test in tests if _function(test) not in left_out]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselects the long tests that the run does not execute."""
    chosen = executed(items)
    config.hook.pytest_deselected(items=list(set(items) - set(chosen)))
    items[:] = chosen


def _function(item: pytest.Item) -> str:
    """Where a test is, without its parameters."""
    return item.nodeid.partition("[")[0]


def drawn(cases: Sequence[T], number: int, by: str | None) -> list[T]:
    """So many of the cases at most, in their order: the same ones for the same `by`."""
    places = random.Random(by).sample(range(len(cases)), min(len(cases), number))
    return [cases[place] for place in sorted(places)]
