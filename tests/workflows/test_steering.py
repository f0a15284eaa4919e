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
from purser.budget.decisions import Amount
from purser.budget.holds import HoldRequest
from purser.budget.scopes import Path
from purser.compose.demo.provider import Match, Rule
from purser.workflows.contract import Message, ToolCall, ToolResult
from tests.support.world import TENANT, World, calls, eventually


async def test_a_paused_task_holds_nothing_and_goes_on_when_resumed(house: World) -> None:
    house.provider.control.hold()
    task_id = await house.submit(house.agent("a", calls("nothing"), "Done."))
    await house.provider.control.wait_held()
    await house.workflow(task_id).signal(Message.PAUSE)
    await house.until(task_id, lambda task: task["status"] == "paused")
    house.provider.control.continue_held()
    await house.until(task_id, lambda task: task["agents"]["a"]["status"] == "paused")
    assert await house.open_holds() == 0
    assert len(house.provider.served()) == 1
    await house.workflow(task_id).signal(Message.RESUME)
    assert (await house.end(task_id))["status"] == "completed"
    await house.audited()


async def test_an_agent_that_starts_while_its_task_is_paused_waits(house: World) -> None:
    task_id = await house.submit(house.agent("a"), house.agent("b", depends_on=["a"]))
    await eventually(lambda: started(house, task_id))
    await house.workflow(task_id).signal(Message.PAUSE)
    await house.until(task_id, lambda task: "paused" in [agent["status"] for agent in task["agents"].values()])
    assert len(house.provider.served()) < 2
    await house.workflow(task_id).signal(Message.RESUME)
    assert (await house.end(task_id))["status"] == "completed"


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


async def test_cancelling_a_wait_for_open_holds_leaves_nothing(house: World) -> None:
    await house.budget("session:shared", limit_tokens=1_000, mode="hard")
    other = await house.ledger.hold(TENANT, HoldRequest("other", Path.parse(["session:shared"]), Amount(950)))
    task_id = await house.submit(house.agent("a"), session_id="shared")
    await eventually(lambda: house.pool.fetchval("select max(asks) > 1 from waiters"))
    await house.workflow(task_id).cancel()
    await house.end(task_id)
    await house.ledger.release(TENANT, hold_id=other.hold_id)
    await cancelled(house, task_id)
    assert house.provider.served() == ()


async def test_cancelling_a_backpressure_sleep_releases_the_hold(house: World) -> None:
    await house.budget("session:slow", limit_tokens=10, backpressure=[["1.00", 60_000]])
    task_id = await house.submit(house.agent("a"), session_id="slow")
    await eventually(lambda: house.pool.fetchval("select count(*) = 1 from holds where state = 'held'"))
    await cancelled(house, task_id)
    assert await house.spent("session:slow") == 0


async def test_cancelling_while_waiting_for_a_person_withdraws_the_request(house: World) -> None:
    task_id = await house.submit(house.agent("a"), budget={"task": {"limit_tokens": 10, "mode": "approval"}})
    await house.until(task_id, lambda task: task["status"] == "waiting_approval")
    await cancelled(house, task_id)
    assert await house.pool.fetchval("select state from approvals") == "withdrawn"


async def test_cancelling_before_the_first_word_charges_the_input(house: World) -> None:
    house.provider.control.hold()
    task_id = await house.submit(house.agent("a"))
    await house.provider.control.wait_held()
    task = await cancelled(house, task_id)
    usage = task["agents"]["a"]["usage"]  # type: ignore[index]
    assert usage["input"] == house.provider.served()[0].arrival.prompt_tokens
    assert (usage["output"], usage["estimated"]) == (0, True)
    assert house.provider.served()[0].end is not None


async def test_cancelling_in_the_middle_of_a_stream_charges_what_was_produced(house: World) -> None:
    house.provider.control.add_rule(Rule(match=Match(agent="a"), chunks=5))
    house.provider.control.hold(after_chunks=3)
    task_id = await house.submit(house.agent("a", "word " * 50))
    await house.provider.control.wait_held()
    task = await cancelled(house, task_id)
    usage = task["agents"]["a"]["usage"]  # type: ignore[index]
    [served] = house.provider.served()
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


async def test_cancelling_at_any_moment_leaves_no_open_hold(house: World, seed: int) -> None:
    """Often enough that a cancel swallowed by a completing activity would have shown."""
    chance = random.Random(seed)
    turns = [calls("nothing") for _ in range(20)]
    tasks = [await house.submit(house.agent("a", *turns, "Done.")) for _ in range(8)]
    for task_id in tasks:
        await eventually(partial(started, house, task_id))

    async def cancel(task_id: str) -> None:
        await asyncio.sleep(chance.uniform(0, 1.5))
        await house.workflow(task_id).cancel()

    await asyncio.gather(*map(cancel, tasks))
    for task_id in tasks:
        assert (await house.end(task_id))["status"] == "cancelled"
    await house.audited()


async def started(world: World, task_id: str) -> bool | None:
    """Whether the workflow of a task exists."""
    sent = "select sent_at is not null from outbox where workflow_id = $1"
    return await world.pool.fetchval(sent, world.workflow(task_id).id) or None
