"""Holds that learn: their size from earlier replies, and their steps."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from purser.budget.learned_holds import AHEAD, ENOUGH, LEAST_STEP, output_seen, output_to_hold, step
from purser.budget.usage import Usage

TWENTY = list(range(100, 2_100, 100))
"""Twenty replies of 100 to 2,000 tokens."""


@pytest.mark.parametrize(
    ("quantile", "held"),
    [("0.5", 1_000 + AHEAD), ("0.9", 1_800 + AHEAD), ("0.91", 1_900 + AHEAD), ("0.001", 256), ("0", 4_096)],
)
def test_a_hold_covers_a_quantile_of_earlier_replies(quantile: str, held: int) -> None:
    assert output_to_hold(TWENTY, Decimal(quantile), 256, 4_096) == held


def test_the_whole_cap_is_held_before_enough_is_known() -> None:
    assert output_to_hold(TWENTY[: ENOUGH - 1], Decimal("0.5"), 256, 4_096) == 4_096


@given(
    st.lists(st.integers(0, 10_000), max_size=80),
    st.decimals("0", "0.999", places=3),
    st.integers(1, 500),
    st.integers(1, 8_192),
)
def test_a_hold_is_never_above_the_cap_nor_below_the_least(
    seen: list[int], quantile: Decimal, least: int, cap: int
) -> None:
    assert min(least, cap) <= output_to_hold(seen, quantile, least, cap) <= cap


@pytest.mark.parametrize(
    ("usage", "streamed", "capped", "learned"),
    [
        (Usage(input=50, output=300), True, False, 300),
        (Usage(input=50, output=300), True, True, 1_000),
        (Usage(input=50, output=300), False, False, 1_000),
        (Usage(input=50, output=300, reasoning=200), True, False, 1_000),
        (Usage(input=50, output=300, reasoning=0), True, False, 300),
        (Usage.from_total(350), True, False, 1_000),
        (Usage(input=50, output=3_000), True, False, 1_000),
    ],
)
def test_what_nobody_could_see_end_or_grow_is_learned_as_the_cap(
    usage: Usage, streamed: bool, capped: bool, learned: int
) -> None:
    assert output_seen(usage, 1_000, streamed=streamed, capped=capped) == learned


def test_steps_grow_with_the_hold_and_end_at_the_cap() -> None:
    assert (step(300, 4_096), step(2_000, 4_096), step(4_000, 4_096)) == (LEAST_STEP, 1_000, 96)
