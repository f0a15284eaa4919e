"""Pause, resume and cancel."""

import asyncio
import random
from contextlib import suppress
from functools import partial

import pytest
from temporalio import activity
from temporalio.client import WorkflowFailureError
from temporalio.service import RPCError

from purser.activities.tools import Tools
from purser.budget.gate import Amount
from purser.budget.holds import HoldRequest
from purser.budget.scopes import Path
from purser.compose.demo.provider import Match, Rule
from purser.workflows.contract import Message, ToolCall, ToolResult
from tests.support.world import TENANT, World, calls, eventually


async def test_a_paused_task_holds_nothing_and_goes_on_when_resumed(system: World) -> None:
    task_id = await system.submit_and_pause(system.agent("a", calls("nothing"), "Done."))
    assert await system.open_holds() == 0
    assert len(system.provider.served()) == 1
    await system.workflow(task_id).signal(Message.RESUME)
    assert (await system.end(task_id))["status"] == "completed"
    await system.audited()


async def test_a_task_that_is_paused_during_a_delay_by_backpressure_holds_nothing_after_it(system: World) -> None:
    await system.budget("session:slow", limit_tokens=10, backpressure=[["1.00", 2_000]])
    task_id = await system.submit(system.agent("a"), session_id="slow")
    await eventually(lambda: system.pool.fetchval("select count(*) = 1 from holds where state = 'held'"))
    await system.workflow(task_id).signal(Message.PAUSE)
    await system.until(task_id, lambda task: task["agents"]["a"]["status"] == "paused")
    assert await system.open_holds() == 0
    assert system.provider.served() == ()
    await system.workflow(task_id).signal(Message.RESUME)
    assert (await system.end(task_id))["status"] == "completed"
    assert len(system.provider.served()) == 1
    await system.audited()


async def test_an_agent_that_starts_while_its_task_is_paused_waits(system: World) -> None:
    task_id = await system.submit(system.agent("a"), system.agent("b", depends_on=["a"]))
    await eventually(lambda: started(system, task_id))
    await system.workflow(task_id).signal(Message.PAUSE)
    await system.until(task_id, lambda task: "paused" in [agent["status"] for agent in task["agents"].values()])
    assert len(system.provider.served()) < 2
    await system.workflow(task_id).signal(Message.RESUME)
    assert (await system.end(task_id))["status"] == "completed"


async def cancelled(world: World, task_id: str) -> dict[str, object]:
    with suppress(RPCError):  # it has ended
        await world.workflow(task_id).cancel()
    task = await world.end(task_id)
    with pytest.raises(WorkflowFailureError):
        await world.workflow(task_id).result()
    assert task["status"] == "cancelled"
    assert {agent["status"] for agent in task["agents"].values()} <= {"cancelled", "completed"}
    await world.audited()
    return task


async def test_cancelling_before_anything_was_held_leaves_nothing(idle: World) -> None:
    task_id = await idle.submit(idle.agent("a"), idle.agent("b", depends_on=["a"]))
    await eventually(lambda: started(idle, task_id))
    await idle.workflow(task_id).cancel()
    async with idle.worker():
        await cancelled(idle, task_id)
    assert idle.provider.served() == ()


async def test_cancelling_a_wait_for_open_holds_leaves_nothing(system: World) -> None:
    await system.budget("session:shared", limit_tokens=1_000, mode="hard")
    other = await system.ledger.hold(TENANT, HoldRequest("other", Path.parse(["session:shared"]), Amount(950)))
    task_id = await system.submit(system.agent("a"), session_id="shared")
    await eventually(lambda: system.pool.fetchval("select max(asks) > 1 from waiters"))
    await system.workflow(task_id).cancel()
    await system.end(task_id)
    await system.ledger.release(TENANT, hold_id=other.hold_id)
    await cancelled(system, task_id)
    assert system.provider.served() == ()


async def test_cancelling_a_backpressure_sleep_releases_the_hold(system: World) -> None:
    await system.budget("session:slow", limit_tokens=10, backpressure=[["1.00", 60_000]])
    task_id = await system.submit(system.agent("a"), session_id="slow")
    await eventually(lambda: system.pool.fetchval("select count(*) = 1 from holds where state = 'held'"))
    await cancelled(system, task_id)
    assert await system.spent("session:slow") == 0


async def test_cancelling_while_waiting_for_a_person_withdraws_the_request(system: World) -> None:
    task_id = await system.submit(system.agent("a"), budget={"task": {"limit_tokens": 10, "mode": "approval"}})
    await system.until(task_id, lambda task: task["status"] == "waiting_approval")
    await cancelled(system, task_id)
    assert await system.pool.fetchval("select state from approvals") == "withdrawn"


async def test_cancelling_before_the_first_word_charges_the_input(system: World) -> None:
    system.provider.control.hold()
    task_id = await system.submit(system.agent("a"))
    await system.provider.control.wait_held()
    task = await cancelled(system, task_id)
    usage = task["agents"]["a"]["usage"]  # type: ignore[index]
    assert usage["input"] == system.provider.served()[0].arrival.prompt_tokens
    assert (usage["output"], usage["estimated"]) == (0, True)
    assert system.provider.served()[0].end is not None


async def test_cancelling_in_the_middle_of_a_stream_charges_what_was_produced(system: World) -> None:
    system.provider.control.add_rule(Rule(match=Match(agent="a"), chunks=5))
    system.provider.control.hold(after_chunks=3)
    task_id = await system.submit(system.agent("a", "word " * 50))
    await system.provider.control.wait_held()
    task = await cancelled(system, task_id)
    usage = task["agents"]["a"]["usage"]  # type: ignore[index]
    [served] = system.provider.served()
    assert served.end is not None
    assert usage["output"] == served.end.produced_tokens > 0
    assert usage["estimated"]


async def test_cancelling_a_tool_leaves_nothing(idle: World) -> None:
    begun = asyncio.Event()

    @activity.defn(name="slow")
    async def slow(call: ToolCall) -> ToolResult:
        begun.set()
        await asyncio.sleep(2)
        return await Tools(idle.pool).store_result(call, "late")

    tools = [{"name": "slow", "description": "", "parameters": {}}]
    async with idle.worker(slow):
        task_id = await idle.submit(idle.agent("a", calls("slow"), "Done.", tools=tools))
        await begun.wait()
        await cancelled(idle, task_id)


async def test_cancelling_at_any_moment_leaves_no_open_hold(system: World, seed: int) -> None:
    """Cancels often enough that a cancellation lost to a completing activity would show."""
    chance = random.Random(seed)
    turns = [calls("nothing") for _ in range(20)]
    tasks = [await system.submit(system.agent("a", *turns, "Done.")) for _ in range(8)]
    for task_id in tasks:
        await eventually(partial(started, system, task_id))

    async def cancel(task_id: str) -> None:
        await asyncio.sleep(chance.uniform(0, 1.5))
        await system.workflow(task_id).cancel()

    await asyncio.gather(*map(cancel, tasks))
    for task_id in tasks:
        assert (await system.end(task_id))["status"] == "cancelled"
    await system.audited()


async def started(world: World, task_id: str) -> bool | None:
    """Whether the workflow of a task exists."""
    sent = "select sent_at is not null from outbox where workflow_id = $1"
    return await world.pool.fetchval(sent, world.workflow(task_id).id) or None
