"""Tasks whose workflow is gone are ended; as long as Temporal does not answer, none is."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from temporalio import activity, workflow
from temporalio.client import Client, WorkflowExecutionStatus, WorkflowHandle
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from purser.activities.postgres.agents import Agents
from purser.activities.tasks.vanished import CHECK_EVERY, Vanished
from purser.budget.gate import Amount, Verdict
from purser.budget.holds import HoldRequest
from purser.budget.scopes import Path, Scope
from purser.compose.stack.ports import free_port
from purser.workflows.contract import TaskRef, ToolCall, ToolResult
from tests.support.world import BUILD_ID, TENANT, World, calls, eventually


@workflow.defn
class Ending:
    """Ends in the way that its argument names, or waits."""

    @workflow.run
    async def run(self, how: str) -> None:
        if how == "failed":
            raise ApplicationError("as requested")
        await workflow.wait_condition(lambda: how == "completed")


def vanished(world: World) -> Vanished:
    return Vanished(world.client, world.pool, Agents(world.pool), world.ledger, world.approvals)


async def checked_long_ago(world: World) -> None:
    await world.pool.execute("update tasks set checked_at = now() - interval '2 minutes'")


async def test_a_terminated_task_ends_and_what_it_held_is_released(system: World) -> None:
    await system.budget("session:slow", limit_tokens=10, backpressure=[["1.00", 60_000]])
    task_id = await system.submit(system.agent("a"), session_id="slow")
    await eventually(lambda: system.pool.fetchval("select count(*) from holds where state = 'held'"))
    await system.workflow(task_id).terminate()
    await checked_long_ago(system)
    assert await vanished(system).sweep() == 1
    task = await system.tasks.get(TENANT, task_id)
    assert (task["status"], task["reason"]) == ("cancelled", "workflow_terminated")
    assert task["agents"]["a"]["status"] == "cancelled"
    assert await system.pool.fetchval("select count(*) from holds where state = 'held'") == 0
    ended = await system.pool.fetch("select kind from scopes where ended_at is not null order by kind")
    assert [row["kind"] for row in ended] == ["agent", "task"], "its budgets leave the metrics"
    assert await vanished(system).sweep() == 0
    await system.audited()


async def test_an_agent_whose_workflow_cannot_start_fails_and_those_that_need_it_are_skipped(idle: World) -> None:
    task_id = await idle.submit(idle.agent("a"), idle.agent("b", depends_on=["a"]))
    # As after a reset of the task's workflow: that of its agent goes on.
    running = idle.workflow(task_id, "a").id
    await idle.client.start_workflow("Other", id=running, task_queue=f"nobody-{task_id}")
    async with idle.worker():
        task = await idle.end(task_id)
    assert {name: (agent["status"], agent["reason"]) for name, agent in task["agents"].items()} == {
        "a": ("failed", "workflow_ended"),
        "b": ("skipped", "dependency"),
    }
    await idle.client.get_workflow_handle(running).terminate()


async def test_a_terminated_agent_leaves_no_approval_request(system: World) -> None:
    await system.budget("session:s1", limit_tokens=10, mode="approval")
    task_id = await system.submit(system.agent("a"), session_id="s1")
    await system.until(task_id, lambda task: task["status"] == "waiting_approval")
    await system.workflow(task_id, "a").terminate()
    task = await system.end(task_id)
    assert (task["agents"]["a"]["status"], task["agents"]["a"]["reason"]) == ("failed", "workflow_ended")
    assert await system.pool.fetchval("select state from approvals") == "withdrawn"


async def test_a_terminated_agent_leaves_no_hold_of_its_paid_tools(idle: World) -> None:
    begun, may_end = asyncio.Event(), asyncio.Event()

    @activity.defn(name="search")
    async def search(call: ToolCall) -> ToolResult:
        begun.set()
        await may_end.wait()
        return ToolResult(call.seq)

    tools = [{"name": "search", "description": "", "parameters": {}, "price_usd": "0.01"}]
    async with idle.worker(search):
        task_id = await idle.submit(idle.agent("a", calls("search"), "Done.", tools=tools))
        await begun.wait()
        await idle.workflow(task_id, "a").terminate()
        assert (await idle.end(task_id))["agents"]["a"]["reason"] == "workflow_ended"
        await idle.audited()
        may_end.set()


class StartsMeanwhile:
    """A client whose workflow starts just after Temporal has answered that it does not know it."""

    def __init__(self, world: World) -> None:
        self._world = world

    def get_workflow_handle(self, workflow_id: str) -> Any:
        handle = self._world.client.get_workflow_handle(workflow_id)

        async def describe(**options: Any) -> Any:
            try:
                return await WorkflowHandle.describe(handle, **options)
            except RPCError:
                await self._world.dispatcher.dispatch()
                raise

        handle.describe = describe  # type: ignore[method-assign]
        return handle


async def test_a_task_that_starts_during_a_check_is_not_lost(still: World) -> None:
    task_id = await still.submit(still.agent("a"))
    looking: Any = StartsMeanwhile(still)
    assert not await replace(vanished(still), client=looking).ended(TaskRef(task_id, TENANT), timedelta(0))
    assert (await still.tasks.get(TENANT, task_id))["status"] == "running"
    assert (await still.workflow(task_id).describe()).status is WorkflowExecutionStatus.RUNNING


async def test_a_task_that_temporal_has_lost_fails_after_a_day_or_at_once_if_it_is_cancelled(still: World) -> None:
    refs = [TaskRef(await still.submit(still.agent("a")), TENANT) for _ in range(2)]
    assert not await vanished(still).ended(refs[0], lost_for=timedelta(0)), "its start is in the outbox"
    await still.pool.execute("delete from outbox")
    assert not await vanished(still).ended(refs[0]), "an operator may start it again"
    await still.pool.execute(
        "update tasks set lost_at = now() - interval '25 hours' where task_id = $1", refs[0].task_id
    )
    assert await vanished(still).ended(refs[0])
    assert not await vanished(still).ended(refs[0]), "it has ended already"
    assert await vanished(still).ended(refs[1], lost_for=timedelta(0))
    for ref in refs:
        task = await still.tasks.get(TENANT, ref.task_id)
        assert (task["status"], task["reason"]) == ("failed", "workflow_lost")
        assert task["agents"]["a"]["reason"] == "workflow_lost"


async def test_a_temporal_that_does_not_answer_ends_no_task(still: World) -> None:
    unreachable = await Client.connect(f"127.0.0.1:{free_port()}", lazy=True)
    ref = TaskRef(await still.submit(still.agent("a")), TENANT)
    await still.pool.execute("delete from outbox")
    with pytest.raises((RPCError, RuntimeError)):
        await replace(vanished(still), client=unreachable).ended(ref)
    assert (await still.tasks.get(TENANT, ref.task_id))["status"] == "running"


async def test_a_server_that_does_not_know_the_namespace_ends_no_task(still: World, temporal_address: str) -> None:
    elsewhere = await Client.connect(temporal_address, namespace="gone")
    ref = TaskRef(await still.submit(still.agent("a")), TENANT)
    await still.pool.execute("delete from outbox")
    with pytest.raises(RPCError):
        await replace(vanished(still), client=elsewhere).ended(ref, lost_for=timedelta(0))
    assert (await still.tasks.get(TENANT, ref.task_id))["status"] == "running"
    assert await still.pool.fetchval("select lost_at from tasks") is None


@pytest.mark.parametrize(
    ("how", "status", "reason"),
    [
        ("completed", "failed", "workflow_completed"),
        ("failed", "failed", "workflow_failed"),
        ("canceled", "cancelled", "workflow_cancelled"),
        ("timed_out", "failed", "workflow_timed_out"),
    ],
)
async def test_a_task_ends_as_its_workflow_did(
    still: World, temporal_client: Client, task_queue: str, how: str, status: str, reason: str
) -> None:
    runner = UnsandboxedWorkflowRunner()
    async with Worker(
        temporal_client, task_queue=task_queue, workflows=[Ending], workflow_runner=runner, build_id=BUILD_ID
    ):
        ref = TaskRef(await still.submit(still.agent("a")), TENANT)
        timeout = timedelta(seconds=1) if how == "timed_out" else None
        started = await temporal_client.start_workflow(
            Ending.run, how, id=ref.workflow_id, task_queue=task_queue, execution_timeout=timeout
        )
        if how == "canceled":
            await started.cancel()

        async def ended() -> bool:
            return (await started.describe()).status is WorkflowExecutionStatus[how.upper()]

        await eventually(ended)
        assert await vanished(still).ended(ref)
        task = await still.tasks.get(TENANT, ref.task_id)
        assert (task["status"], task["reason"]) == (status, reason)


async def test_a_task_whose_workflow_is_found_again_goes_on_and_is_lost_no_longer(
    still: World, temporal_client: Client, task_queue: str
) -> None:
    ref = TaskRef(await still.submit(still.agent("a")), TENANT)
    await still.pool.execute("delete from outbox")
    assert not await vanished(still).ended(ref)
    assert await still.pool.fetchval("select lost_at from tasks") is not None
    await temporal_client.start_workflow(Ending.run, "never", id=ref.workflow_id, task_queue=task_queue)
    assert not await vanished(still).ended(ref)
    assert await still.pool.fetchval("select lost_at from tasks") is None
    assert (await still.tasks.get(TENANT, ref.task_id))["status"] == "running"


async def test_what_a_lost_task_holds_and_asks_for_ends_with_it(still: World) -> None:
    ref = TaskRef(await still.submit(still.agent("a")), TENANT)
    await still.pool.execute("delete from outbox")
    short, ask = Scope.parse("session:s1"), Amount(900)
    path = Path.parse([str(short), f"task:{ref.task_id}"])
    await still.budget(str(short), limit_tokens=1_000, mode="approval")
    await still.ledger.hold(TENANT, HoldRequest("held", path, ask))
    answer = await still.ledger.hold(TENANT, HoldRequest("asked", path, Amount(5_000)))
    assert answer.gate.verdict is Verdict.ASK
    await still.approvals.request(TENANT, key="asked", scope=short, path=path, ask=Amount(5_000))
    assert await vanished(still).ended(ref, lost_for=timedelta(0))
    assert await still.pool.fetchval("select state from approvals") == "withdrawn"
    await still.audited()


async def test_each_sweep_checks_the_tasks_not_checked_for_longest(still: World) -> None:
    agents = Agents(still.pool)
    names = [await still.submit(still.agent("a")) for _ in range(4)]
    assert await agents.unchecked(CHECK_EVERY, 2) == [], "all are new"
    for minutes, name in enumerate(names, start=2):
        await still.pool.execute(
            "update tasks set checked_at = now() - $1 * interval '1 minute' where task_id = $2", minutes, name
        )
    await still.pool.execute("update tasks set ended_at = now() where task_id = $1", names[3])
    assert {ref.task_id for ref in await agents.unchecked(CHECK_EVERY, 2)} == {names[1], names[2]}
    assert [ref.task_id for ref in await agents.unchecked(CHECK_EVERY, 2)] == [names[0]]
    assert await agents.unchecked(CHECK_EVERY, 2) == []
