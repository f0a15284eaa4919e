"""The steps of ladders that an ask reaches, as the gate names them."""

from decimal import Decimal

import pytest

from purser.budget.gate import Amount, Verdict, gate_answer
from purser.budget.policies.fields import Mode
from purser.budget.policies.ladder import LadderStep, Reached
from tests.support.budgets.one_limit import UNITS, ask, view

LADDER = (LadderStep(Decimal("0.5"), compression=Decimal("0.6")), LadderStep(Decimal("0.8"), output=Decimal(300)))


def step(found: Reached | None) -> int | None:
    return None if found is None else found.number


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize(("asked", "number"), [(49, None), (50, 1), (79, 1), (80, 2), (500, 2)])
def test_a_step_is_reached_at_its_ratio_in_every_mode(unit: str, mode: Mode, asked: int, number: int | None) -> None:
    seen = view(unit, 900, mode, spent=60, held=40, granted=100, ladder=LADDER)
    # 100 of 1,000 are used.
    answer = gate_answer([seen], ask(unit, asked * 10 - 100))
    assert step(answer.scopes[0].ladder) == number
    assert {scope: one.number for scope, one in answer.ladder.items()} == (
        {} if number is None else {seen.scope: number}
    )


def test_the_whole_ask_counts_even_if_only_a_part_of_it_is_held() -> None:
    answer = gate_answer(
        [view(limit=1_000, ladder=(*LADDER, LadderStep(Decimal("1.5"), output=Decimal(1))))], Amount(2_000), Amount(10)
    )
    assert (answer.verdict, answer.amount) == (Verdict.WARN, Amount(1_000))
    assert step(answer.scopes[0].ladder) == 3


def test_a_policy_in_shadow_and_one_without_limit_have_no_steps() -> None:
    shadow, unlimited = view(limit=10, ladder=LADDER, shadow=True), view(ladder=LADDER)
    assert gate_answer([shadow, unlimited], Amount(10_000)).ladder == {}
