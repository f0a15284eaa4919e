"""Approvals: a task waits for a decision, and continues or ends by the decision or its deadline."""

import uuid
from typing import Any

import pytest
from temporalio.client import WorkflowUpdateFailedError

from purser.budget.approvals import Approver, Choice, DecisionRequest, Identity
from purser.workflows.contract import ApprovalDecision, DecisionResult, Message
from tests.support.world import TENANT, World, calls, eventually

BOSS = Approver("boss", None, ("approver",), Identity.KEY)
TIGHT = {"agent": {"limit_tokens": 10, "mode": "approval"}}


MISFITS: tuple[list[Any], ...] = ([], [None], [{}], ["text", "more"], [5])


async def asked(world: World, task_id: str) -> str:
    """Waits for the pending approval request of a task; returns its id."""
    await world.until(task_id, lambda task: task["status"] == "waiting_approval")
    return str(
        await eventually(lambda: world.pool.fetchval("select approval_id from approvals where state = 'pending'"))
    )


async def decide(world: World, approval_id: str, choice: Choice, tokens: int | None = None) -> None:
    await world.approvals.record_decision(
        TENANT, DecisionRequest(approval_id, uuid.uuid4().hex, choice, grant_tokens=tokens), BOSS
    )
    world.dispatcher.poke()


async def test_an_approved_task_goes_on_and_its_grant_is_spent_through_the_gate(system: World) -> None:
    task_id = await system.submit(system.agent("a"), budget=TIGHT)
    await decide(system, await asked(system, task_id), Choice.APPROVE)
    task = await system.end(task_id)
    assert task["status"] == "completed"
    assert task["agents"]["a"]["approvals"] == 1
    await system.audited()


async def test_a_partial_grant_is_decided_anew_and_opens_another_request(system: World) -> None:
    task_id = await system.submit(system.agent("a"), budget=TIGHT)
    first = await asked(system, task_id)
    await decide(system, first, Choice.APPROVE, tokens=1)
    second = await eventually(
        lambda: system.pool.fetchval(
            "select approval_id from approvals where state = 'pending' and approval_id <> $1", first
        )
    )
    await decide(system, second, Choice.APPROVE)
    task = await system.end(task_id)
    assert (task["status"], task["agents"]["a"]["approvals"]) == ("completed", 2)


async def test_a_denied_task_is_refused_without_a_call(system: World) -> None:
    task_id = await system.submit(system.agent("a"), budget=TIGHT)
    await decide(system, await asked(system, task_id), Choice.DENY)
    task = await system.end(task_id)
    agent = task["agents"]["a"]
    assert (task["status"], agent["reason"], agent["refusal"]["reason"]) == ("refused", "denied", "denied")
    assert system.provider.served() == ()


async def test_a_request_without_a_decision_expires(system: World) -> None:
    await system.budget("session:s", limit_tokens=10, mode="approval", approval={"deadline_s": 1})
    task = await system.run(system.agent("a"), session_id="s")
    assert (task["status"], task["agents"]["a"]["reason"]) == ("refused", "expired")


@pytest.mark.parametrize("state", ["denied", "expired"])
async def test_a_call_that_fits_in_part_by_the_time_its_request_ends_goes_on(system: World, state: str) -> None:
    await system.budget("session:s", limit_tokens=10, mode="approval")
    task_id = await system.submit(system.agent("a", max_output_tokens=3_000), session_id="s")
    approval_id = await asked(system, task_id)
    # Too little for all that it asks for, so that the request stays, and enough for a shorter reply.
    await system.budget("session:s", limit_tokens=1_500)
    if state == "denied":
        await decide(system, approval_id, Choice.DENY)
    else:
        await system.pool.execute("update approvals set deadline = now()")
    assert (await system.end(task_id))["status"] == "completed"
    assert (await system.approvals.get(TENANT, approval_id)).state == state
    await system.audited()


async def test_two_agents_that_are_short_of_one_scope_share_one_request(system: World) -> None:
    budget = {"task": {"limit_tokens": 10, "mode": "approval"}}
    task_id = await system.submit(system.agent("a"), system.agent("b"), budget=budget)
    await eventually(lambda: system.pool.fetchval("select count(*) = 2 from approval_waiters where left_at is null"))
    await decide(system, await asked(system, task_id), Choice.APPROVE)
    assert (await system.end(task_id))["status"] == "completed"
    assert await system.pool.fetchval("select count(*) from approvals") == 1


async def test_the_update_returns_the_result_of_a_decision_and_the_query_what_is_pending(system: World) -> None:
    task_id = await system.submit(system.agent("a"), budget=TIGHT)
    approval_id, workflow = await asked(system, task_id), system.workflow(task_id)
    pending = await eventually(lambda: workflow.query(Message.APPROVALS))
    assert [ticket["approval_id"] for ticket in pending] == [approval_id]
    status = await workflow.query(Message.STATUS)
    assert status["status"] == "waiting_approval"
    unknown = await workflow.execute_update(
        Message.DECIDE_APPROVAL, await system.signed("nobody"), result_type=DecisionResult
    )
    assert unknown.error == "not_found"
    done = await workflow.execute_update(
        Message.DECIDE_APPROVAL, await system.signed(approval_id), result_type=DecisionResult
    )
    assert (done.state, done.error) == ("approved", "")
    assert (await system.end(task_id))["status"] == "completed"


async def test_an_unsigned_decision_changes_nothing_and_the_task_waits_on(system: World) -> None:
    task_id = await system.submit(system.agent("a"), budget=TIGHT)
    approval_id, workflow = await asked(system, task_id), system.workflow(task_id)
    unsigned = ApprovalDecision(approval_id, uuid.uuid4().hex, "approve", "the-ceo")
    await workflow.signal(Message.APPROVAL, unsigned)
    refused = await workflow.execute_update(Message.DECIDE_APPROVAL, unsigned, result_type=DecisionResult)
    assert (refused.state, refused.error) == ("pending", "unsigned")
    assert "sign the decision with the approver's key" in refused.message
    assert await system.pool.fetchval("select count(*) from decisions") == 0
    await workflow.signal(Message.APPROVAL, await system.signed(approval_id, until="2100-01-01T00:00:00Z"))
    assert (await system.end(task_id))["status"] == "completed"


async def test_a_malformed_decision_is_rejected_without_a_trace_in_history(system: World) -> None:
    task_id = await system.submit(system.agent("a"), budget=TIGHT)
    approval_id, workflow = await asked(system, task_id), system.workflow(task_id)
    with pytest.raises(WorkflowUpdateFailedError):
        await workflow.execute_update(Message.DECIDE_APPROVAL, await system.signed(approval_id, decision="maybe"))
    with pytest.raises(WorkflowUpdateFailedError):
        await workflow.execute_update(Message.DECIDE_APPROVAL, await system.signed(approval_id, grant_tokens=-1))
    for ticket_url in ("x" * 2_001, "https://a\n"):
        with pytest.raises(WorkflowUpdateFailedError) as refused:
            await workflow.execute_update(
                Message.DECIDE_APPROVAL, await system.signed(approval_id, ticket_url=ticket_url)
            )
        assert "ticket_url is not valid" in str(refused.value.cause)
    history = await workflow.fetch_history()
    assert not any(event.HasField("workflow_execution_update_accepted_event_attributes") for event in history.events)
    await workflow.signal(Message.APPROVAL, await system.signed(approval_id, decision="maybe"))
    await workflow.signal(Message.APPROVAL, await system.signed(approval_id, decision="deny"))
    assert (await system.end(task_id))["status"] == "refused"


async def test_signals_that_do_not_match_are_dropped(system: World) -> None:
    task_id = await system.submit(system.agent("a"), budget=TIGHT)
    approval_id, workflow = await asked(system, task_id), system.workflow(task_id)
    for each in (workflow, system.client.get_workflow_handle(f"{workflow.id}/a")):
        for signal in ("approval", "agent_report", "approval_decided", "resume"):
            for arguments in MISFITS:
                await each.signal(signal, args=arguments)
    await workflow.signal(Message.APPROVAL, await system.signed(approval_id, decision="deny"))
    assert (await system.end(task_id))["status"] == "refused"


async def test_a_decision_made_while_no_worker_runs_takes_effect_when_one_returns(idle: World) -> None:
    async with idle.worker():
        task_id = await idle.submit(idle.agent("a"), budget=TIGHT)
        approval_id = await asked(idle, task_id)
    await idle.workflow(task_id).signal(Message.APPROVAL, await idle.signed(approval_id))
    async with idle.worker():
        assert (await idle.end(task_id))["status"] == "completed"


async def test_an_approval_is_waited_for_in_a_run_that_continued_as_new(idle: World) -> None:
    idle.dependencies = idle.with_settings(turns_per_run=1)
    agent = idle.agent("a", calls("nothing"), "Done.", budget={"limit_tokens": 150, "mode": "approval"})
    async with idle.worker():
        task_id = await idle.submit(agent)
        first_run = (await eventually(lambda: described(idle, task_id))).run_id
        await decide(idle, await asked(idle, task_id), Choice.APPROVE)
        task = await idle.end(task_id)
        assert (await described(idle, task_id)).run_id != first_run
    assert (task["status"], task["agents"]["a"]["turns"]) == ("completed", 2)
    await idle.audited()


async def described(world: World, task_id: str) -> Any:
    from temporalio.service import RPCError

    try:
        return await world.workflow(task_id, "a").describe()
    except RPCError:
        return None
