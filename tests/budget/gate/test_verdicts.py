"""Verdicts of the gate: the table of the design at its edges."""

from dataclasses import replace
from typing import Any

import pytest

from purser.budget.gate import Amount, Pressure, ScopeView, Verdict, gate_answer
from purser.budget.policies.fields import Mode
from purser.budget.scopes import Scope
from purser.wire.limits import MAX_AMOUNT
from tests.support.approving import missing
from tests.support.budgets.one_limit import SESSION, UNITS, ask, view


def verdict(seen: ScopeView, wanted: Amount, **options: Any) -> Verdict:
    return gate_answer([seen], wanted, **options).verdict


# --- the limit -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize(
    ("mode", "over"), [("hard", Verdict.REFUSE), ("approval", Verdict.ASK), ("soft", Verdict.WARN)]
)
def test_equal_to_the_limit_passes_and_one_more_does_not(unit: str, mode: str, over: Verdict) -> None:
    seen = view(unit, 1_000, mode, spent=600, granted=100, warn_at=())
    assert gate_answer([seen], ask(unit, 500)).scopes[0].reason == "fits"
    beyond = gate_answer([seen], ask(unit, 501))
    assert beyond.verdict is over
    assert (beyond.amount is not None) is (mode == "soft")


def test_an_unlimited_scope_lets_everything_through_and_has_no_ratio_to_speak_of() -> None:
    answer = gate_answer([view(spent=10**12)], Amount(MAX_AMOUNT, MAX_AMOUNT))
    (scope,) = answer.scopes
    assert (answer.verdict, answer.delay_ms, answer.pressure) == (Verdict.ALLOW, 0, Pressure.LOW)
    assert (scope.ratio, scope.headroom_tokens, scope.headroom_nano_usd, scope.reason) == (0.0, None, None, "unlimited")


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("mode", ["hard", "approval", "soft"])
def test_where_limit_and_grants_are_nothing_the_ratio_is_null_and_nothing_fits(unit: str, mode: str) -> None:
    answer = gate_answer([view(unit, 0, mode)], ask(unit, 1))
    assert answer.scopes[0].ratio is None
    assert (answer.delay_ms, answer.pressure) == (5_000, Pressure.CRITICAL)
    assert answer.verdict is {"hard": Verdict.REFUSE, "approval": Verdict.ASK, "soft": Verdict.WARN}[mode]


@pytest.mark.parametrize("unit", UNITS)
def test_a_grant_makes_room_where_the_limit_is_nothing(unit: str) -> None:
    assert gate_answer([view(unit, 0, granted=10)], ask(unit, 10)).amount == ask(unit, 10)


def test_money_and_tokens_must_both_fit() -> None:
    seen = replace(view("tokens", 1_000), limit_nano_usd=500)
    assert verdict(seen, Amount(1_000, 501)) is Verdict.REFUSE
    assert verdict(seen, Amount(1_001, 500)) is Verdict.REFUSE
    assert gate_answer([seen], Amount(1_000, 500)).amount == Amount(1_000, 500)


@pytest.mark.parametrize("limit", [0, 100])
def test_what_costs_nothing_passes_an_exhausted_money_limit_without_delay(limit: int) -> None:
    seen = view("nano_usd", limit, spent=101)
    answer = gate_answer([seen], Amount(1, 0))
    assert (answer.verdict, answer.scopes[0].reason, answer.scopes[0].ratio, answer.delay_ms) == (
        Verdict.ALLOW, "fits", 0.0, 0,
    )  # fmt: skip
    assert verdict(seen, Amount(1, 1)) is Verdict.REFUSE
    assert missing(seen, Amount(1, 0)) == Amount()


def test_what_costs_nothing_needs_tokens_and_a_scope_that_is_not_frozen() -> None:
    exhausted = view("nano_usd", 100, spent=101)
    assert verdict(replace(exhausted, limit_tokens=10), Amount(11)) is Verdict.REFUSE
    assert verdict(replace(exhausted, frozen=True), Amount(1)) is Verdict.REFUSE


def test_an_ask_shrinks_to_the_part_that_costs_nothing() -> None:
    assert gate_answer([view("nano_usd", 100, spent=101)], Amount(50, 10), Amount(20, 0)).amount == Amount(20, 0)


def test_a_frozen_scope_refuses_in_every_mode_with_or_without_a_limit() -> None:
    for mode in Mode:
        for limit in (None, 1_000):
            answer = gate_answer([view("tokens", limit, mode, frozen=True)], Amount(1))
            assert (answer.verdict, answer.scopes[0].reason, answer.amount) == (Verdict.REFUSE, "frozen", None)


# --- waiting ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("unit", UNITS)
def test_waiting_is_for_a_shortage_that_only_open_holds_cause(unit: str) -> None:
    seen = view(unit, 1_000, spent=500, held=500)
    assert gate_answer([seen], ask(unit, 500)).scopes[0].reason == "open_holds"
    assert verdict(seen, ask(unit, 500)) is Verdict.WAIT
    assert verdict(seen, ask(unit, 501)) is Verdict.REFUSE
    assert verdict(replace(seen, mode=Mode.APPROVAL), ask(unit, 501)) is Verdict.ASK


def test_a_caller_that_cannot_wait_gets_the_verdict_of_the_mode() -> None:
    seen = view("tokens", 1_000, held=1_000)
    assert verdict(seen, Amount(1), patient=False) is Verdict.REFUSE
    assert verdict(replace(seen, mode=Mode.APPROVAL), Amount(1), patient=False) is Verdict.ASK


def test_the_older_waiter_goes_first() -> None:
    answer = gate_answer([view("tokens", 1_000, queued=True)], Amount(1))
    assert (answer.verdict, answer.scopes[0].reason, answer.amount) == (Verdict.WAIT, "queued", None)


# --- several scopes --------------------------------------------------------------------------------------------------


SAYING = {
    Verdict.ALLOW: view("tokens", 1_000),
    Verdict.WARN: view("tokens", 1_000, spent=850),
    Verdict.WAIT: view("tokens", 1_000, held=950),
    Verdict.ASK: view("tokens", 1_000, "approval", spent=950),
    Verdict.REFUSE: view("tokens", 1_000, spent=950),
}


@pytest.mark.parametrize("one", Verdict)
@pytest.mark.parametrize("other", Verdict)
def test_the_strictest_scope_wins_at_any_level(one: Verdict, other: Verdict) -> None:
    order = list(Verdict)
    answer = gate_answer([SAYING[one], view(), SAYING[other]], Amount(100))
    assert answer.verdict is max(one, other, key=order.index)
    assert [scope.verdict for scope in answer.scopes] == [one, Verdict.ALLOW, other]
    assert answer.decisive.verdict is answer.verdict
    assert (answer.amount is not None) is answer.verdict.admits


# --- shrinking -------------------------------------------------------------------------------------------------------


def test_an_ask_shrinks_to_what_is_left_and_never_below_its_least() -> None:
    seen = view("tokens", 1_000, spent=700)
    assert gate_answer([seen], Amount(500), Amount(100)).amount == Amount(300)
    assert gate_answer([seen], Amount(500), Amount(300)).amount == Amount(300)
    assert gate_answer([seen], Amount(500), Amount(301)).amount is None
    assert gate_answer([seen], Amount(500)).amount is None


def test_tokens_and_money_shrink_together() -> None:
    seen = view("nano_usd", 1_000, spent=400)
    # From 100 tokens at 200 to 500 tokens at 1,000: two nano-dollars a token, rounded up, never above what is left.
    assert gate_answer([seen], Amount(500, 1_000), Amount(100, 200)).amount == Amount(300, 600)
    one_less = replace(seen, spent=Amount(0, 401))
    assert gate_answer([one_less], Amount(500, 1_000), Amount(100, 200)).amount == Amount(299, 598)


def test_an_ask_whose_tokens_cannot_shrink_is_all_or_nothing() -> None:
    assert gate_answer([view("nano_usd", 700)], Amount(100, 1_000), Amount(100, 500)).amount is None


# --- unknown prices --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["hard", "approval", "soft"])
@pytest.mark.parametrize(
    ("unit", "limit", "reason"),
    [("nano_usd", 10**9, "unknown_price"), ("tokens", 100, "fits"), ("tokens", None, "unlimited")],
)
def test_an_ask_without_a_price_is_refused_where_money_is_limited_in_every_mode(
    mode: str, unit: str, limit: int | None, reason: str
) -> None:
    seen = view(unit, limit, mode)
    answer = gate_answer([seen], Amount(10), priced=False)
    assert (answer.decisive.reason, answer.unpriced) == (reason, reason == "unknown_price")
    assert answer.verdict is (Verdict.REFUSE if answer.unpriced else Verdict.ALLOW)
    assert not gate_answer([seen], Amount(10)).unpriced


def test_the_scope_that_needs_a_price_is_named_before_others_that_refuse() -> None:
    frozen, money = view(frozen=True), replace(view("nano_usd", 700), scope=Scope.parse("task:t1"), frozen=True)
    answer = gate_answer([frozen, money], Amount(10), priced=False)
    assert (answer.decisive.scope, answer.decisive.view) == (money.scope, money)
    assert gate_answer([frozen, money], Amount(10)).decisive.scope == frozen.scope


def test_the_strictest_shadow_verdict_names_its_outermost_scope() -> None:
    full = view(limit=100, spent=100, shadow=True)
    asks_first = replace(full, scope=Scope.parse("task:t1"), mode=Mode.APPROVAL)
    answer = gate_answer([asks_first, full, replace(full, scope=Scope.parse("task:t2"))], Amount(1))
    assert answer.held_up_by == ("refuse", full.scope)
    assert answer.verdict is Verdict.ALLOW
    delayed = gate_answer([view(limit=100, spent=90, mode="soft", shadow=True)], Amount(1))
    assert delayed.held_up_by == ("delay", SESSION)
    assert delayed.delay_ms == 0
    assert gate_answer([view(limit=100, spent=90)], Amount(1)).held_up_by is None


def test_a_last_call_may_use_more_than_its_part_as_far_as_an_ordinary_one_may() -> None:
    seen = replace(view(limit=1_000, spent=500, warn_at=()), reserve=Amount(100))
    concluding = replace(seen, last_of=4)
    assert [gate_answer([one], Amount(400)).verdict for one in (seen, concluding)] == [Verdict.ALLOW] * 2
    assert [gate_answer([one], Amount(401)).verdict for one in (seen, concluding)] == [Verdict.REFUSE] * 2
    spent = replace(concluding, spent=Amount(900))
    assert gate_answer([spent], Amount(26)).verdict is Verdict.REFUSE
    assert gate_answer([spent], Amount(300), Amount(10)).amount == Amount(25)


def test_the_shortage_leaves_the_reserve_alone() -> None:
    seen = replace(view(limit=1_000, mode="approval", spent=850), reserve=Amount(100))
    assert missing(seen, Amount(80)) == Amount(30)
