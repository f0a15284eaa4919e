"""Thresholds, backpressure delays and pressure at every edge."""

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import pytest

from purser.budget.gate import Amount, Verdict, gate_answer, pressure
from purser.budget.policies.fields import BackpressureStep
from purser.wire.limits import MAX_AMOUNT
from tests.support.budgets.one_limit import UNITS, ask, view


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize(
    ("taken", "delay"),
    [
        (0, 0), (799_999, 0),
        (800_000, 50), (849_999, 50),
        (850_000, 300), (899_999, 300),
        (900_000, 750), (949_999, 750),
        (950_000, 1_500), (999_999, 1_500),
        (1_000_000, 5_000), (2_000_000, 5_000),
    ],
)  # fmt: skip
def test_the_delay_follows_the_ratio_at_every_edge(unit: str, taken: int, delay: int) -> None:
    # The ask is part of the ratio, and so are holds and grants.
    seen = view(unit, 900_000, "soft", spent=max(0, taken - 20), held=min(taken, 10), granted=100_000)
    wanted = ask(unit, taken - seen.spent.tokens - seen.held.tokens - seen.spent.nano_usd - seen.held.nano_usd)
    assert gate_answer([seen], wanted).delay_ms == delay


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("limit", [1_000, 3, 7, 10**15 + 7, MAX_AMOUNT])
@pytest.mark.parametrize("threshold", ["0.8", "0.85", "0.95", "0.333333"])
def test_a_threshold_is_met_exactly_and_not_one_below(unit: str, limit: int, threshold: str) -> None:
    steps = [BackpressureStep(Decimal(threshold), 77)]
    reached = -(-limit * Fraction(threshold) // 1)
    seen = view(unit, limit, warn_at=[Decimal(threshold)], backpressure=steps)
    at, below = gate_answer([seen], ask(unit, int(reached))), gate_answer([seen], ask(unit, int(reached) - 1))
    assert (at.verdict, at.scopes[0].reason, at.delay_ms) == (Verdict.WARN, "warning", 77)
    assert (below.verdict, below.delay_ms) == (Verdict.ALLOW, 0)


def test_the_highest_ratio_of_the_path_sets_the_delay() -> None:
    path = [view("tokens", 100, "soft", spent=89), view("nano_usd", 100, "soft", spent=84), view()]
    assert gate_answer(path, Amount(1, 1)).delay_ms == 750


def test_the_larger_of_tokens_and_money_is_the_ratio() -> None:
    seen = replace(view("tokens", 100, "soft", spent=10), limit_nano_usd=100, held=Amount(0, 85))
    assert gate_answer([seen], Amount(1, 5)).scopes[0].ratio == 0.9


def test_when_usage_falls_the_delay_does_too() -> None:
    crowded = view("tokens", 1_000, "soft", spent=980)
    assert gate_answer([crowded], Amount(20)).delay_ms == 5_000
    assert gate_answer([replace(crowded, granted=Amount(1_000))], Amount(20)).delay_ms == 0


@pytest.mark.parametrize(
    ("ratio", "word"),
    [
        (0.0, "low"), (0.4999, "low"), (0.5, "medium"), (0.7499, "medium"),
        (0.75, "high"), (0.8999, "high"), (0.9, "critical"), (2.0, "critical"), (None, "critical"),
    ],
)  # fmt: skip
def test_pressure_puts_the_ratio_into_words(ratio: float | None, word: str) -> None:
    assert pressure(ratio) == word
