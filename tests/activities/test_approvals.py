"""The activities of approvals, on a real Postgres; their wire types through a real Temporal."""

import uuid
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from temporalio import workflow
from temporalio.client import Client
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from purser.activities.approvals import ApprovalActivities, CallToApprove
from purser.budget.approvals import Identity
from purser.budget.gate import Amount, Verdict
from purser.budget.holds import HoldRequest
from purser.budget.policies.policy import PolicyPatch
from purser.budget.postgres.approvals.approvals import Approvals
from purser.budget.postgres.connections.pools import Pool
from purser.budget.postgres.ledger.ledger import Ledger
from purser.budget.postgres.ledger.policies import Policies
from purser.budget.postgres.ledger.settings import LedgerSettings
from purser.budget.scopes import Path, Scope
from purser.workflows.contract import (
    ActivityName,
    AgentRef,
    ApprovalDecision,
    ApprovalInput,
    ApprovalTicket,
    DecisionInput,
    DecisionResult,
)
from tests.support.actors import TESTER
from tests.support.world import BUILD_ID

TENANT = "default"
TICKET = "https://tickets.example.com/4711"
SESSION = Scope.parse("session:s1")
PATH = Path.parse([str(SESSION), "task:t1", "agent:t1/a1"])
ASK = Amount(500)
REQUEST = ApprovalInput(AgentRef(TENANT, "t1", "a1"), "k1", str(SESSION), "task-t1/a1")


class Pokes:
    """Counts requests to send wake-ups."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self) -> None:
        self.count += 1


async def call_of(request: ApprovalInput) -> CallToApprove:
    assert (request.agent, request.key) == (REQUEST.agent, "k1")
    return CallToApprove(PATH, (), ASK, "sam", "backend", True)


@pytest.fixture
async def approvals(pool: Pool) -> Approvals:
    """Of a session of 100 tokens, which is too few for the ask of `k1`; asserted names are trusted."""
    await rules(pool, limit_tokens=100, mode="approval")
    answer = await Ledger(pool, LedgerSettings()).hold(TENANT, HoldRequest("k1", PATH, ASK))
    assert answer.gate.verdict is Verdict.ASK
    return Approvals(pool, LedgerSettings(), trust_temporal_identity=True)


@pytest.fixture
def pokes() -> Pokes:
    return Pokes()


@pytest.fixture
def activities(approvals: Approvals, pokes: Pokes) -> ApprovalActivities:
    return ApprovalActivities(approvals, call_of, pokes)


async def rules(pool: Pool, **patch: Any) -> None:
    await Policies(pool, LedgerSettings()).set(TENANT, SESSION, PolicyPatch.parse(patch), by=TESTER)


def decision(approval_id: str, **fields: Any) -> DecisionInput:
    plain: dict[str, Any] = {"decision_id": "d1", "decision": "approve", "approver": "alice"}
    return DecisionInput(TENANT, ApprovalDecision(approval_id, **(plain | fields)))


async def test_ask_path_and_submitter_come_from_the_stored_call(
    activities: ApprovalActivities, approvals: Approvals
) -> None:
    ticket = await activities.request_approval(REQUEST)
    assert ticket.state == "pending"
    shown = await approvals.get(TENANT, ticket.approval_id)
    assert (shown.scope, shown.shortage, shown.deadline) == (SESSION, Amount(400), ticket.deadline)
    (waiter,) = shown.waiters
    assert (waiter.task_id, waiter.agent_id, waiter.ask) == ("t1", "a1", ASK)
    assert (waiter.submitter, waiter.submitted_by, waiter.vouched) == ("sam", "backend", True)


async def test_a_scope_that_predates_todays_rules_can_be_asked_for(pool: Pool) -> None:
    tag = Scope.stored("tag:team=..")
    tagged = replace(PATH, tags=(tag,))
    await Policies(pool, LedgerSettings()).set(
        TENANT, tag, PolicyPatch.parse({"limit_tokens": 100, "mode": "approval"}), by=TESTER
    )
    answer = await Ledger(pool, LedgerSettings()).hold(TENANT, HoldRequest("k1", tagged, ASK))
    assert answer.gate.decisive.scope == tag

    async def tagged_call(_: ApprovalInput) -> CallToApprove:
        return CallToApprove(tagged, (tag,), ASK, "sam", "backend", True)

    activities = ApprovalActivities(Approvals(pool, LedgerSettings()), tagged_call, Pokes())
    assert (await activities.request_approval(replace(REQUEST, scope=str(tag)))).state == "pending"


async def test_an_unsigned_decision_is_marked_as_asserted_where_it_counts(
    activities: ApprovalActivities, approvals: Approvals, pokes: Pokes
) -> None:
    ticket = await activities.request_approval(REQUEST)
    done = await activities.record_decision(decision(ticket.approval_id, note_ref="note-7", ticket_url=TICKET))
    assert done == DecisionResult(ticket.approval_id, "approved", 0, "")
    (recorded,) = (await approvals.get(TENANT, ticket.approval_id)).decisions
    assert (recorded.approver, recorded.identity) == ("alice", Identity.ASSERTED)
    assert (recorded.note, recorded.ticket_url) == ("note-7", TICKET)
    assert pokes.count == 1


@pytest.mark.parametrize(
    ("policy", "fields", "error"),
    [
        ({"roles": ["admin"]}, {}, "role"),
        (None, {"decision": "maybe"}, "invalid"),
        (None, {"grant_tokens": 0}, "invalid"),
        (None, {"grant_nano_usd": -1}, "invalid"),
        (None, {"decision": "deny", "grant_tokens": 5}, "invalid"),
        (None, {"until": "2020-01-01T00:00:00Z"}, "invalid"),
        (None, {"until": "2100-01-01T00:00:00"}, "invalid"),
        (None, {"until": "tomorrow"}, "invalid"),
        (None, {"until": "0001-01-01T00:00:00+14:00"}, "invalid"),
        (None, {"until": "9999-12-31T23:59:59-14:00"}, "invalid"),
        (None, {"approver": "a\0"}, "invalid"),
        (None, {"note_ref": "n\0"}, "invalid"),
        (None, {"decision_id": ""}, "invalid"),
        (None, {"decision_id": "\ud800"}, "invalid"),
    ],
)
async def test_what_the_rules_refuse_is_a_code_and_no_failure(
    pool: Pool,
    activities: ApprovalActivities,
    pokes: Pokes,
    policy: dict[str, Any] | None,
    fields: dict[str, Any],
    error: str,
) -> None:
    # A failing activity is retried for ever, or ends the workflow because of a mere mistake of the sender.
    if policy is not None:
        await rules(pool, approval=policy)
    ticket = await activities.request_approval(REQUEST)
    done = await activities.record_decision(decision(ticket.approval_id, **fields))
    assert (done.state, done.error) == ("pending", error)
    assert await pool.fetchval("select count(*) from decisions") == 0
    assert pokes.count == 0


async def test_unknown_closed_and_conflicting_are_codes_too(activities: ApprovalActivities) -> None:
    ticket = await activities.request_approval(REQUEST)
    unknown = await activities.record_decision(decision("nothing"))
    assert (unknown.state, unknown.error) == ("", "not_found")
    assert (await activities.record_decision(decision("a\0b\ud800"))).error == "not_found"
    assert (await activities.record_decision(decision("nothing", grant_tokens=0))).error == "not_found"
    await activities.record_decision(decision(ticket.approval_id, decision="deny"))
    conflict = await activities.record_decision(decision(ticket.approval_id))
    assert (conflict.state, conflict.error) == ("denied", "conflict")
    closed = await activities.record_decision(decision(ticket.approval_id, decision_id="d2"))
    assert (closed.state, closed.error) == ("denied", "closed")
    again = await activities.record_decision(decision(ticket.approval_id, decision="deny"))
    assert (again.state, again.error) == ("denied", "")


@workflow.defn
class RequestAndDecide:
    """Requests an approval and decides it, by the names of the contract."""

    @workflow.run
    async def run(self) -> tuple[ApprovalTicket, DecisionResult]:
        limit = timedelta(seconds=20)
        ticket = await workflow.execute_activity(
            ActivityName.REQUEST_APPROVAL, REQUEST, result_type=ApprovalTicket, start_to_close_timeout=limit
        )
        until = workflow.now() + timedelta(days=1)
        done = await workflow.execute_activity(
            ActivityName.RECORD_DECISION,
            decision(ticket.approval_id, grant_tokens=400, until=until.isoformat()),
            result_type=DecisionResult,
            start_to_close_timeout=limit,
        )
        return ticket, done


async def test_every_value_survives_the_way_through_temporal(
    activities: ApprovalActivities, approvals: Approvals, temporal_client: Client, task_queue: str
) -> None:
    async with Worker(
        temporal_client,
        task_queue=task_queue,
        workflows=[RequestAndDecide],
        activities=[activities.request_approval, activities.record_decision],
        workflow_runner=UnsandboxedWorkflowRunner(),
        build_id=BUILD_ID,
    ):
        ticket, done = await temporal_client.execute_workflow(
            RequestAndDecide.run, id=str(uuid.uuid4()), task_queue=task_queue
        )
    assert done == DecisionResult(ticket.approval_id, "approved")
    shown = await approvals.get(TENANT, ticket.approval_id)
    assert (shown.given, shown.deadline) == (Amount(400), ticket.deadline)
    assert shown.decisions[0].until is not None
