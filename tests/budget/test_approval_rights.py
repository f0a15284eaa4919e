"""Who may decide a request, and when one person is not enough."""

from dataclasses import replace
from datetime import timedelta

import pytest

from purser.budget.approval_rules import judge
from purser.budget.approvals import (
    ApprovalRequest,
    ApprovalState,
    Approver,
    DecisionRequest,
    Identity,
)
from purser.budget.errors import DecisionRefused
from purser.budget.gate import Amount
from purser.budget.policies.fields import ApprovalRules
from tests.support.approving import ALICE, BOB, DENY, NOW, TWO_ABOVE_1000, approval_by, approve, request, waiter


def refusal(subject: ApprovalRequest, decision: DecisionRequest, actor: Approver, *, trust: bool = False) -> str:
    with pytest.raises(DecisionRefused) as refused:
        judge(subject, decision, actor, NOW, trust_temporal_identity=trust)
    return refused.value.reason


# --- who may decide --------------------------------------------------------------------------------------------------


def test_one_approver_grants_the_shortage() -> None:
    outcome = judge(request(), approve(), ALICE, NOW)
    assert (outcome.state, outcome.grant, outcome.until) == (ApprovalState.APPROVED, Amount(400), None)


def test_a_role_outside_the_rules_decides_nothing() -> None:
    viewer = Approver("vic", None, ("viewer",))
    assert refusal(request(), approve(), viewer) == "role"
    assert refusal(request(), DENY, viewer) == "role"
    assert refusal(request(rules=ApprovalRules(roles=("admin",))), approve(), ALICE) == "role"


@pytest.mark.parametrize("decision", [approve(), DENY])
def test_submitters_do_not_decide_on_their_own_tasks(decision: DecisionRequest) -> None:
    rules = ApprovalRules(not_submitter=True)
    shared = request(rules=rules, waiters=(waiter(500, submitter="sam"), waiter(50, submitter="alice")))
    assert refusal(shared, decision, ALICE) == "submitter"
    assert judge(shared, decision, BOB, NOW).state is not ApprovalState.PENDING


def test_a_submitter_in_anothers_name_may_not_decide_either() -> None:
    waiting = replace(waiter(submitter="zoe"), submitted_by="alice")
    asked = request(rules=ApprovalRules(not_submitter=True), waiters=(waiting,))
    assert refusal(asked, approve(), ALICE) == "submitter"
    assert asked.submitters == {"zoe", "alice"}


def test_a_name_that_no_key_vouches_for_bars_no_one() -> None:
    named = replace(waiter(submitter="alice"), submitted_by="backend", vouched=False)
    asked = request(rules=ApprovalRules(not_submitter=True), waiters=(named,))
    assert asked.submitters == {"backend"}
    assert judge(asked, approve(), ALICE, NOW).state is ApprovalState.APPROVED
    assert refusal(asked, approve(), Approver("backend", None, ("admin",))) == "submitter"


def test_without_that_rule_the_submitter_may() -> None:
    assert judge(request(waiters=(waiter(submitter="alice"),)), approve(), ALICE, NOW).state is ApprovalState.APPROVED


@pytest.mark.parametrize("rules", [ApprovalRules(), ApprovalRules(not_submitter=True), TWO_ABOVE_1000])
def test_an_asserted_name_decides_only_where_such_names_are_trusted(rules: ApprovalRules) -> None:
    asserted = Approver("alice", None, ("approver",), Identity.ASSERTED)
    assert refusal(request(rules=rules), approve(), asserted) == "unsigned"
    assert refusal(request(rules=rules), DENY, asserted) == "unsigned"
    trusted = judge(request(rules=rules), approve(), asserted, NOW, trust_temporal_identity=True)
    assert trusted.state is ApprovalState.APPROVED


@pytest.mark.parametrize("state", [state for state in ApprovalState if state is not ApprovalState.PENDING])
def test_a_closed_request_is_not_decided_again(state: ApprovalState) -> None:
    assert refusal(request(state=state), approve(), ALICE) == "closed"
    assert refusal(request(state=state), DENY, ALICE) == "closed"


# --- two people ------------------------------------------------------------------------------------------------------


def test_up_to_the_amount_one_person_is_enough_and_above_it_two_are_needed() -> None:
    subject = request(rules=TWO_ABOVE_1000)
    assert judge(subject, approve(grant_tokens=1_000), ALICE, NOW).state is ApprovalState.APPROVED
    first = judge(subject, approve(grant_tokens=1_001), ALICE, NOW)
    assert (first.state, first.decisions_needed, first.grant) == (ApprovalState.PENDING, 1, Amount())


def test_the_shortage_counts_where_no_amount_is_named() -> None:
    large = request(rules=TWO_ABOVE_1000, waiters=(waiter(5_000),))
    assert judge(large, approve(), ALICE, NOW).state is ApprovalState.PENDING
    assert large.decisions_needed(NOW) == 2
    assert request(rules=TWO_ABOVE_1000).decisions_needed(NOW) == 1


def test_two_people_grant_what_both_agreed_to() -> None:
    soon, later = NOW + timedelta(hours=1), NOW + timedelta(hours=2)
    half = request(rules=TWO_ABOVE_1000, decisions=(approval_by("alice", Amount(5_000, 9), soon),))
    assert half.decisions_needed(NOW) == 1
    outcome = judge(half, approve(grant_tokens=3_000, grant_nano_usd=20, until=later), BOB, NOW)
    assert (outcome.state, outcome.grant, outcome.until) == (ApprovalState.APPROVED, Amount(3_000, 9), soon)


def test_the_same_person_twice_is_one_person() -> None:
    half = request(rules=TWO_ABOVE_1000, decisions=(approval_by("alice", Amount(5_000)),))
    assert refusal(half, approve(grant_tokens=5_000), ALICE) == "same_person"


def test_an_asserted_approval_is_none_of_two_once_such_names_are_no_longer_trusted() -> None:
    past = replace(approval_by("eve", Amount(5_000)), identity=Identity.ASSERTED)
    half = request(rules=TWO_ABOVE_1000, decisions=(past,))
    assert judge(half, approve(grant_tokens=5_000), ALICE, NOW).state is ApprovalState.PENDING
    trusting = judge(half, approve(grant_tokens=5_000), ALICE, NOW, trust_temporal_identity=True)
    assert trusting.state is ApprovalState.APPROVED


def test_an_approval_that_has_run_out_does_not_count() -> None:
    ending = approval_by("alice", Amount(5_000), NOW)
    half = request(rules=TWO_ABOVE_1000, waiters=(waiter(5_000),), decisions=(ending,))
    assert half.decisions_needed(NOW - timedelta(microseconds=1)) == 1
    assert half.decisions_needed(NOW) == 2
    assert judge(half, approve(), BOB, NOW).state is ApprovalState.PENDING


def test_the_approval_of_a_person_whose_task_waits_by_now_does_not_count() -> None:
    rules = ApprovalRules(not_submitter=True, two_people_above_tokens=1_000)
    joined = request(
        rules=rules, waiters=(waiter(submitter="alice"),), decisions=(approval_by("alice", Amount(5_000)),)
    )
    assert judge(joined, approve(grant_tokens=5_000), BOB, NOW).state is ApprovalState.PENDING


def test_one_denial_is_final() -> None:
    half = request(rules=TWO_ABOVE_1000, decisions=(approval_by("alice", Amount(5_000)),))
    assert judge(half, DENY, BOB, NOW).state is ApprovalState.DENIED


# --- deputies --------------------------------------------------------------------------------------------------------


DEPUTY = Approver("dora", None, ("deputy",))


def test_a_deputy_decides_only_once_the_request_is_escalated() -> None:
    with pytest.raises(DecisionRefused, match="only after an escalation") as refused:
        judge(request(), approve(), DEPUTY, NOW)
    assert refused.value.reason == "role"
    assert judge(request(escalated_at=NOW), approve(), DEPUTY, NOW).state is ApprovalState.APPROVED


def test_an_escalation_leaves_the_other_rules_in_force() -> None:
    escalated = request(escalated_at=NOW, rules=ApprovalRules(not_submitter=True, two_people_above_tokens=100))
    with pytest.raises(DecisionRefused, match="submitted a task"):
        judge(replace(escalated, waiters=(waiter(submitter="dora"),)), approve(), DEPUTY, NOW)
    assert judge(escalated, approve(), DEPUTY, NOW).decisions_needed == 1
    with pytest.raises(DecisionRefused, match="one of the roles"):
        judge(escalated, approve(), Approver("vera", None, ("viewer",)), NOW)
