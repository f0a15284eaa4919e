"""Who may decide a request, what is granted, and when one person is not enough."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest

from purser.budget.approval_rules import expire, judge
from purser.budget.approvals import (
    ApprovalState,
    Approver,
    Choice,
    DecisionRequest,
)
from purser.budget.errors import DecisionRefused, InvalidRequest
from purser.budget.gate import Amount
from purser.budget.policies.fields import ApprovalRules, BackpressureStep, OnExpiry
from purser.budget.previews import without_delay
from purser.wire.limits import MAX_AMOUNT, MAX_CALL_NANO_USD, MAX_CALL_TOKENS
from tests.support.approving import ALICE, BOB, DENY, NOW, TWO_ABOVE_1000, approval_by, approve, request, waiter

# --- what is short ---------------------------------------------------------------------------------------------------


def test_the_shortage_is_what_all_waiting_asks_lack_together() -> None:
    assert request().shortage == Amount(400)
    assert request(waiters=(waiter(500), waiter(50))).shortage == Amount(450)
    assert request(held=Amount(30), granted=Amount(10)).shortage == Amount(420)


def test_tokens_and_money_are_short_independently() -> None:
    assert request(limit_nano_usd=100, waiters=(waiter(500, 50),)).shortage == Amount(400, 20)
    assert request(limit_tokens=None, limit_nano_usd=100, waiters=(waiter(500, 50),)).shortage == Amount(0, 20)


def test_no_shortage_exceeds_the_largest_grant() -> None:
    many = request(limit_nano_usd=100, waiters=(waiter(MAX_CALL_TOKENS, MAX_CALL_NANO_USD),) * 12)
    assert many.shortage.nano_usd == MAX_AMOUNT
    unanswered = replace(many, asked=many.shortage, rules=ApprovalRules(on_expiry=OnExpiry.GRANT))
    assert expire(unanswered).grant == many.shortage
    assert without_delay(many, [BackpressureStep(Decimal("0.5"), 1_000)]).nano_usd == MAX_AMOUNT


def test_equal_to_the_limit_is_not_short() -> None:
    assert request(waiters=(waiter(100),)).moot
    assert request(waiters=(waiter(101),)).shortage == Amount(1)


def test_where_no_money_is_left_an_ask_that_costs_nothing_is_not_short() -> None:
    exhausted = request(limit_tokens=None, limit_nano_usd=0, spent=Amount(0, 7), waiters=(waiter(500, 0),))
    assert exhausted.moot


def test_nothing_is_short_once_the_window_is_over() -> None:
    assert request(current=False).moot


# --- amounts ---------------------------------------------------------------------------------------------------------


def test_naming_one_unit_grants_nothing_of_the_other() -> None:
    both = request(limit_nano_usd=100, waiters=(waiter(500, 50),))
    assert judge(both, approve(grant_tokens=7), ALICE, NOW).grant == Amount(7, 0)
    assert judge(both, approve(grant_nano_usd=7), ALICE, NOW).grant == Amount(0, 7)


@pytest.mark.parametrize("end", [NOW, NOW - timedelta(seconds=1)])
def test_a_grant_ends_in_the_future(end: datetime) -> None:
    with pytest.raises(InvalidRequest, match="not in the future"):
        judge(request(), approve(until=end), ALICE, NOW)


@pytest.mark.parametrize("amount", [0, -1, True, 2**53, "7", 1.5])
@pytest.mark.parametrize("field", ["grant_tokens", "grant_nano_usd"])
def test_amounts_are_whole_and_above_zero(field: str, amount: Any) -> None:
    with pytest.raises(InvalidRequest, match=field):
        approve(**{field: amount})


def test_a_denial_names_no_grant() -> None:
    for fields in ({"grant_tokens": 1}, {"grant_nano_usd": 1}, {"until": NOW}):
        with pytest.raises(InvalidRequest, match="a denial grants nothing"):
            DecisionRequest("r1", "d1", Choice.DENY, **fields)


@pytest.mark.parametrize("decision_id", ["", "x" * 257, "a\nb"])
def test_decision_ids_are_short_and_printable(decision_id: str) -> None:
    with pytest.raises(InvalidRequest, match="decision_id"):
        DecisionRequest("r1", decision_id, Choice.DENY)


def test_an_end_has_a_time_zone_and_a_note_has_an_end() -> None:
    with pytest.raises(InvalidRequest, match="time zone"):
        approve(until=datetime(2030, 1, 1))  # noqa: DTZ001
    with pytest.raises(InvalidRequest, match="at most 2000"):
        approve(note="x" * 2_001)


@pytest.mark.parametrize(
    "end", [datetime.max.replace(tzinfo=UTC), datetime.min.replace(tzinfo=timezone(timedelta(hours=1)))]
)
def test_an_end_that_postgres_would_not_store_as_it_is_is_refused(end: datetime) -> None:
    with pytest.raises(InvalidRequest, match="out of range"):
        approve(until=end)


def test_a_field_that_a_later_release_adds_changes_no_digest_while_it_is_not_given() -> None:
    @dataclass(frozen=True)
    class Later(DecisionRequest):
        cost_center: str | None = None

    given: dict[str, Any] = {"approval_id": "r1", "decision_id": "d1", "choice": Choice.APPROVE}
    assert Later(**given).digest("alice") == DecisionRequest(**given).digest("alice")
    assert Later(**given, cost_center="4711").digest("alice") != DecisionRequest(**given).digest("alice")


def test_every_part_of_a_decision_binds_its_id() -> None:
    plain = approve(grant_tokens=5)
    others = [
        replace(plain, approval_id="r2"),
        replace(plain, grant_tokens=6),
        replace(plain, grant_nano_usd=5),
        replace(plain, until=NOW),
        replace(plain, note="because"),
        replace(plain, ticket_url="https://tickets.example.com/4711"),
        DENY,
    ]
    digests = {plain.digest("alice"), plain.digest("bob")} | {other.digest("alice") for other in others}
    assert len(digests) == 2 + len(others)
    assert replace(plain, decision_id="d2").digest("alice") == plain.digest("alice")


# --- expiry ----------------------------------------------------------------------------------------------------------


def test_silence_denies_or_grants_the_shortage_as_the_rules_say() -> None:
    assert expire(request()).state is ApprovalState.EXPIRED
    asking = request(rules=ApprovalRules(on_expiry=OnExpiry.GRANT))
    granted = expire(asking)
    assert (granted.state, granted.grant) == (ApprovalState.APPROVED, Amount(400))
    assert expire(asking, tightened=True).state is ApprovalState.EXPIRED


@pytest.mark.parametrize(
    ("asked", "granted"), [(Amount(399), Amount(399)), (Amount(401), Amount(400)), (Amount(0, 7), Amount())], ids=str
)
def test_silence_grants_at_most_what_was_asked_in_each_unit(asked: Amount, granted: Amount) -> None:
    ended = expire(request(asked=asked, rules=ApprovalRules(on_expiry=OnExpiry.GRANT)))
    assert ended.grant == granted
    assert ended.state is (ApprovalState.APPROVED if granted != Amount() else ApprovalState.EXPIRED)


def test_silence_does_not_count_as_two_people() -> None:
    rules = ApprovalRules(on_expiry=OnExpiry.GRANT, two_people_above_tokens=399)
    assert expire(request(rules=rules)).state is ApprovalState.EXPIRED


def test_a_request_ends_at_its_deadline_or_when_nothing_is_short() -> None:
    subject = request()
    assert not subject.ends(subject.deadline - timedelta(microseconds=1))
    assert subject.ends(subject.deadline)
    assert replace(subject, waiters=(), limit_tokens=None).ends(NOW)
    assert not replace(subject, state=ApprovalState.DENIED).ends(subject.deadline)


@pytest.mark.parametrize(("nano_usd", "decisions"), [(1_000, 1), (1_001, 2)])
def test_two_people_are_needed_for_much_money_however_few_the_tokens(nano_usd: int, decisions: int) -> None:
    rules = ApprovalRules(two_people_above_tokens=1_000, two_people_above_nano_usd=1_000)
    short = request(limit_nano_usd=70, rules=rules, waiters=(waiter(500, nano_usd),))
    assert short.decisions_needed(NOW) == decisions
    outcome = judge(short, DecisionRequest("r1", "d1", Choice.APPROVE), ALICE, NOW)
    assert outcome.state is (ApprovalState.APPROVED if decisions == 1 else ApprovalState.PENDING)


# --- money alone -----------------------------------------------------------------------------------------------------


MONEY = {
    "rules": ApprovalRules(two_people_above_nano_usd=1_000, not_submitter=True),
    "limit_tokens": None,
    "limit_nano_usd": 100,
    "waiters": (waiter(0, 5_000),),
}


def test_a_shortage_of_money_alone_needs_two_people_and_the_smaller_amount_is_granted() -> None:
    short = request(**MONEY)
    assert (short.shortage, short.decisions_needed(NOW)) == (Amount(0, 4_970), 2)
    first = judge(short, approve(), ALICE, NOW)
    assert (first.state, first.decisions_needed, first.grant) == (ApprovalState.PENDING, 1, Amount())
    agreed = replace(short, decisions=(approval_by("alice", Amount(0, 4_970)),))
    with pytest.raises(DecisionRefused, match="another person"):
        judge(agreed, approve(), ALICE, NOW)
    assert judge(agreed, approve(grant_nano_usd=3_000), BOB, NOW).grant == Amount(0, 3_000)
    assert expire(replace(short, rules=replace(short.rules, on_expiry=OnExpiry.GRANT))).state is ApprovalState.EXPIRED


def test_the_submitter_of_a_task_that_is_short_of_money_may_not_decide() -> None:
    with pytest.raises(DecisionRefused, match="submitted a task"):
        judge(request(**MONEY), approve(grant_nano_usd=500), Approver("sam", None, ("approver",)), NOW)


def test_two_approvals_in_different_units_grant_nothing() -> None:
    agreed = request(rules=TWO_ABOVE_1000, decisions=(approval_by("alice", Amount(2_000, 0)),))
    short = replace(agreed, rules=ApprovalRules(two_people_above_tokens=1_000, two_people_above_nano_usd=1_000))
    with pytest.raises(InvalidRequest, match="no amount in common"):
        judge(short, approve(grant_nano_usd=2_000), BOB, NOW)
