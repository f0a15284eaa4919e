"""The preview of a grant agrees with the gate's verdict after the grant."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from hypothesis import assume, given
from hypothesis import strategies as st

from purser.budget.approvals import ApprovalRequest, ApprovalState, Waiter
from purser.budget.gate import NOTHING, Amount, ScopeView, gate_answer
from purser.budget.policies.fields import DEFAULT_BACKPRESSURE, ApprovalRules, Mode
from purser.budget.previews import PendingAsk, preview, suggested, without_delay
from purser.budget.scopes import Scope

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
SESSION, TASK = Scope.parse("session:s"), Scope.parse("task:t")


def view(limit: int | None, spent: int = 0, scope: Scope = SESSION, mode: Mode = Mode.APPROVAL) -> ScopeView:
    return ScopeView(scope, mode, limit, None, Amount(spent), Amount(), Amount())


def call(tokens: int, *views: ScopeView, least: int | None = None) -> PendingAsk:
    return PendingAsk(Amount(tokens), Amount(least or tokens), views)


def request(limit: int, spent: int, *asks: int, above: int | None = None) -> ApprovalRequest:
    waiters = tuple(Waiter(str(n), "t", "a", None, Amount(ask, ask), NOW) for n, ask in enumerate(asks))
    nothing = Amount()
    return ApprovalRequest(
        "a1", SESSION, None, "", ApprovalState.PENDING, ApprovalRules(two_people_above_tokens=above), nothing, nothing,
        NOW, NOW + timedelta(hours=1), None, limit, None, Amount(spent), nothing, nothing, True, waiters, (),
    )  # fmt: skip


def test_exact_shortage_admits_the_call_and_delays_it_most() -> None:
    effect = preview([call(600, view(1_000, 900))], SESSION, Amount(500))
    assert (effect.admitted, effect.asking, effect.ratio, effect.delay_ms) == (1, 0, 1.0, 5_000)
    assert effect.slowed_by == SESSION


def test_grant_without_delay_is_the_least_that_causes_none() -> None:
    asked = request(1_000, 900, 600)
    easy = without_delay(asked, DEFAULT_BACKPRESSURE)
    calls = [call(600, view(1_000, 900))]
    assert preview(calls, SESSION, easy).delay_ms == 0
    assert preview(calls, SESSION, easy - Amount(1)).delay_ms == 50


def test_less_than_the_shortage_makes_the_call_ask_again() -> None:
    effect = preview([call(600, view(1_000, 900))], SESSION, Amount(499))
    assert (effect.admitted, effect.asking, effect.ratio) == (0, 1, None)


def test_call_that_can_shrink_goes_on_with_less() -> None:
    effect = preview([call(600, view(1_000, 900), least=200)], SESSION, Amount(100))
    assert (effect.admitted, effect.asking) == (1, 0)


def test_calls_go_on_one_after_the_other_until_nothing_is_left() -> None:
    calls = [call(600, view(1_000, 900)), call(600, view(1_000, 900))]
    effect = preview(calls, SESSION, Amount(500))
    assert (effect.admitted, effect.waiting + effect.asking) == (1, 1)
    assert preview(calls, SESSION, Amount(1_100)).admitted == 2


def test_another_scope_of_the_path_still_refuses_or_delays() -> None:
    full = view(600, 300, TASK, Mode.HARD)
    assert preview([call(600, view(1_000, 900), full)], SESSION, Amount(9_000)).refused == 1
    tight = view(1_000, 300, TASK, Mode.HARD)
    effect = preview([call(600, view(1_000, 900), tight)], SESSION, Amount(9_000))
    assert (effect.delay_ms, effect.slowed_by) == (750, TASK)


def test_without_steps_or_where_none_can_be_avoided_the_shortage_is_offered() -> None:
    asked = request(1_000, 900, 600)
    at_once = replace(DEFAULT_BACKPRESSURE[0], ratio=DEFAULT_BACKPRESSURE[0].ratio * 0)
    assert without_delay(asked, ()) == Amount(500)
    assert without_delay(asked, (at_once,)) == Amount(500)


def test_default_does_not_call_for_a_second_person_where_the_shortage_does_not() -> None:
    assert suggested(request(1_000, 900, 600), DEFAULT_BACKPRESSURE, NOTHING) == Amount(876)
    assert suggested(request(1_000, 900, 600, above=600), DEFAULT_BACKPRESSURE, NOTHING) == Amount(500)


def test_default_counts_what_the_approver_has_granted_already() -> None:
    large = request(1_000, 900, 600, above=1_000)
    assert suggested(large, DEFAULT_BACKPRESSURE, Amount(124)) == Amount(876)
    assert suggested(large, DEFAULT_BACKPRESSURE, Amount(125)) == Amount(500)


@given(limit=st.integers(0, 10**6), spent=st.integers(0, 10**6), ask=st.integers(1, 10**6))
def test_preview_of_one_call_is_the_answer_of_the_gate(limit: int, spent: int, ask: int) -> None:
    asked = request(limit, spent, ask)
    assume(asked.shortage != Amount())
    for grant in (asked.shortage, without_delay(asked, DEFAULT_BACKPRESSURE)):
        seen = replace(view(limit, spent), granted=grant)
        answer = gate_answer([seen], Amount(ask))
        effect = preview([call(ask, view(limit, spent))], SESSION, grant)
        assert (effect.admitted == 1, effect.delay_ms) == (answer.verdict.admits, answer.delay_ms)
        assert effect.admitted == 1
    assert effect.delay_ms == 0
