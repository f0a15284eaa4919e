"""Histories in Temporal: a turn adds few events of constant size, and no text of the conversation."""

import logging
from typing import Any

import pytest
from temporalio import activity
from temporalio.api.enums.v1 import EventType
from temporalio.client import WorkflowHistory

from purser.activities.tools import Tools
from purser.compose.demo.provider import Fault, FaultKind
from purser.workflows.contract import Message, ToolCall, ToolResult
from tests.support.world import World, calls

CANARY = "canary-7d20c9"


async def history(world: World, task_id: str, agent_id: str = "") -> WorkflowHistory:
    return await world.workflow(task_id, agent_id).fetch_history()


async def histories(world: World, task: dict[str, Any]) -> bytes:
    """Every byte that Temporal stores of a task and its agents."""
    found = [await history(world, task["task_id"])]
    for agent_id, agent in task["agents"].items():
        if agent["status"] != "skipped":
            found.append(await history(world, task["task_id"], agent_id))
    return b"".join(event.SerializeToString() for one in found for event in one.events)


async def largest(world: World, task: dict[str, Any]) -> dict[int, int]:
    """Bytes of the largest event of each type that Temporal stores of a task and its agent."""
    sizes: dict[int, int] = {}
    for agent_id in ("", "a"):
        for event in (await history(world, task["task_id"], agent_id)).events:
            sizes[event.event_type] = max(sizes.get(event.event_type, 0), event.ByteSize())
    return sizes


async def test_a_plain_turn_takes_at_most_eight_events(system: World) -> None:
    one = await system.run(system.agent("a", "Done."))
    events = (await history(system, one["task_id"], "a")).events
    kinds = [EventType.Name(event.event_type).removeprefix("EVENT_TYPE_") for event in events]
    # Start and end of the workflow, with the activity that closes the agent, surround the turn.
    begins, ends = kinds.index("MARKER_RECORDED"), kinds.index("ACTIVITY_TASK_COMPLETED")
    turn = kinds[begins - 1 : ends + 1]
    assert turn == [
        "WORKFLOW_TASK_COMPLETED",
        "MARKER_RECORDED",
        "ACTIVITY_TASK_SCHEDULED",
        "ACTIVITY_TASK_STARTED",
        "ACTIVITY_TASK_COMPLETED",
    ]
    assert len(turn) + len(["WORKFLOW_TASK_SCHEDULED", "WORKFLOW_TASK_STARTED"]) <= 8


async def test_many_turns_take_what_one_turn_takes_each(idle: World) -> None:
    @activity.defn(name="quick")
    async def quick(call: ToolCall) -> ToolResult:
        return await Tools(idle.pool).store_result(call, "ok")

    declared = [{"name": "quick", "description": "", "parameters": {}}]
    sizes = []
    async with idle.worker(quick):
        for turns in (1, 6):
            agent = idle.agent("a", *(calls("quick") for _ in range(turns)), "Done.", tools=declared)
            task = await idle.run(agent)
            sizes.append(len((await history(idle, task["task_id"], "a")).events))
    # Six more events are the tool's.
    assert (sizes[1] - sizes[0]) / 5 <= 8 + 6


async def test_a_message_of_a_megabyte_adds_no_byte(system: World) -> None:
    short, long = [
        await system.run(system.agent("a", model="openai/gpt-4.1"), input=text) for text in ("x", "word " * 200_000)
    ]
    assert (short["status"], long["status"]) == ("completed", "completed")
    # Event by event: on a busy machine an admission may take its regular form, which has more events.
    before, after = await largest(system, short), await largest(system, long)
    # Numbers are written in decimal, so larger counts take some digits more.
    assert all(size - before.get(kind, max(before.values())) < 64 for kind, size in after.items())


async def test_no_word_of_a_task_is_in_a_history_or_a_log(idle: World, caplog: pytest.LogCaptureFixture) -> None:
    @activity.defn(name="leaky")
    async def leaky(call: ToolCall) -> ToolResult:
        _, arguments = await Tools(idle.pool).load_arguments(call)
        if arguments["fail"]:
            raise RuntimeError(f"{CANARY} cannot be found, nor {arguments}")
        return await Tools(idle.pool).store_result(call, CANARY)

    caplog.set_level(logging.DEBUG)
    idle.provider.control.add_fault(Fault(kind=FaultKind.SERVER_ERROR))
    declared = [{"name": "leaky", "description": CANARY, "parameters": {"title": CANARY}}]
    works, fails = calls("leaky", fail=False, about=CANARY), calls("leaky", fail=True, about=CANARY)
    agents = (
        idle.agent("a", works, fails, calls(CANARY), CANARY, instructions=CANARY, tools=declared),
        idle.agent("b", CANARY, instructions=CANARY, depends_on=["a"]),
        idle.agent("c", CANARY, api_base=f"{idle.provider.address}/nowhere"),
        idle.agent("d", CANARY, budget={"limit_tokens": 10, "mode": "hard"}),
    )
    more = {"input": CANARY, "context": {"documents": [{"kind": "note", "text": CANARY}]}}
    async with idle.worker(leaky):
        task = await idle.run(*agents, **more)
        await idle.workflow(task["task_id"]).query(Message.STATUS)
    assert [agent["status"] for agent in task["agents"].values()] == ["completed", "completed", "failed", "refused"]
    assert CANARY.encode() not in await histories(idle, task)
    logged = "\n".join([caplog.text, *(str(record.__dict__) for record in caplog.records if record.name != "asyncio")])
    assert CANARY not in logged
