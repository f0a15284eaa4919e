"""The share of inherently slow tests that a run executes.

Long are those marked `proof`, as sweeps, long random runs and tables of crashes, and those marked `stack`, which start
whole systems: one test in twenty, and three quarters of all the time. `make test` runs none of them, `make proof` all
in full. With `PURSER_TEST_PROOF` a run executes some, each at that share of its size: one in 16 and one in 8
(`ONE_IN`), drawn by `PURSER_TEST_DRAW` or else by the run's seed. `.ci/run` does that, and draws by the commit.
"""

import os
import random
from collections.abc import Sequence
from typing import TypeVar

import pytest

T = TypeVar("T")
SHARE = float(os.environ.get("PURSER_TEST_PROOF") or 0)
"""Of the full size, between 0 and 1."""
ONE_IN = {"proof": 16, "stack": 8}
"""Of how many long tests such a run executes one, by their mark."""


def sized(small: int, full: int) -> int:
    """How often to do something: `small` times at least, `full` times in a whole proof."""
    return max(small, round(SHARE * full))


def some(cases: Sequence[T], small: int) -> list[T]:
    """`small` of the cases at least, all in a whole proof, in their order: the same ones in every process of a run."""
    return drawn(cases, sized(small, len(cases)), _by())


def executed(tests: Sequence[pytest.Item]) -> list[pytest.Item]:
    """The tests of a run, without the long ones that it does not execute since it runs a share."""
    if not 0 < SHARE < 1:
        return list(tests)
    left_out: set[str] = set()
    for mark, one_in in ONE_IN.items():
        functions = sorted({_function(test) for test in tests if _long(test) == mark})
        left_out |= set(functions) - set(drawn(functions, -(-len(functions) // one_in), _by()))
    return [test for test in tests if _function(test) not in left_out]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselects the long tests that the run does not execute."""
    chosen = executed(items)
    config.hook.pytest_deselected(items=list(set(items) - set(chosen)))
    items[:] = chosen


def _by() -> str | None:
    """What draws tests and cases."""
    return os.environ.get("PURSER_TEST_DRAW") or os.environ.get("PURSER_TEST_SEED")


def _long(item: pytest.Item) -> str | None:
    """The mark that makes a test a long one, the first of `ONE_IN` if it has both."""
    return next(filter(item.get_closest_marker, ONE_IN), None)


def _function(item: pytest.Item) -> str:
    """Where a test is, without its parameters."""
    return item.nodeid.partition("[")[0]


def drawn(cases: Sequence[T], number: int, by: str | None) -> list[T]:
    """So many of the cases at most, in their order: the same ones for the same `by`."""
    places = random.Random(by).sample(range(len(cases)), min(len(cases), number))
    return [cases[place] for place in sorted(places)]
