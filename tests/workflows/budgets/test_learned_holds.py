"""Holds that learn, with a real worker and a provider that streams: topped up in time, or the reply is cut."""

import json

import pytest
from temporalio import activity

from purser.compose.demo.provider import Fault, FaultKind, FunctionCall, Match, Reply, ToolCall
from purser.compose.demo.provider.service_log import End, Outcome
from purser.workflows.contract import ToolCall as Called
from purser.workflows.contract import ToolResult
from tests.support.agents import MODEL
from tests.support.world import TENANT, World, eventually

LONG = "word " * 400
"""A reply of 401 tokens."""
LEAST = 100
"""What a learned hold covers here."""


@pytest.fixture
async def learned(idle: World) -> World:
    """A world in which the replies of the agent `a` have been short so far."""
    idle.dependencies = idle.with_settings(min_output_tokens=LEAST)
    async with idle.pool.acquire() as connection:
        for _ in range(20):
            await idle.dependencies.stores.outputs.add(TENANT, "a", MODEL, 5, connection)
    return idle


async def prompt_of(world: World) -> int:
    """Input tokens of the first call of the agent `a`."""
    task = await world.run(world.agent("a"))
    return int(task["agents"]["a"]["usage"]["input"])


async def kinds(world: World, task_id: str) -> list[str]:
    """Kinds of the entries of a task, in order."""
    rows = await world.pool.fetch(
        "select e.kind from entries e join scopes s using (tenant, scope_id) where s.kind = 'task' and s.id = $1"
        " order by e.seq",
        task_id,
    )
    return [row["kind"] for row in rows]


async def test_a_hold_grows_with_the_reply_before_the_reply_exceeds_it(learned: World) -> None:
    async with learned.worker():
        task = await learned.run(learned.agent("a", LONG, max_output_tokens=1_000, budget={"learned_holds": 0.9}))
    agent, [served] = task["agents"]["a"], learned.provider.served()
    assert (agent["reply"], agent["output_capped"], agent["overrun"]) == (LONG, False, 0)
    assert await kinds(learned, task["task_id"]) == ["hold", "top_up", "top_up", "settle"]
    held = await learned.pool.fetchval("select min(d_held_tokens) filter (where kind = 'hold') from entries")
    assert held == served.arrival.prompt_tokens + LEAST
    assert await learned.spent(f"task:{task['task_id']}") == served.charged_tokens
    assert (await learned.dependencies.stores.outputs.seen(TENANT, "a", MODEL))[:2] == [401, 5]
    estimates = {"model": MODEL, "part": "output"}
    registry = learned.dependencies.metrics.registry
    assert registry.get_sample_value("purser_estimate_ratio_sum", estimates) == LEAST / 401
    await learned.audited()


async def test_where_no_top_up_fits_the_reply_is_cut_and_what_was_produced_is_charged(learned: World) -> None:
    async with learned.worker():
        prompt = await prompt_of(learned)
        await learned.budget("session:tight", limit_tokens=prompt + LEAST, mode="hard")
        # Five chunks of 15 or 16 tokens: a sixth would be covered only in part.
        hang = Fault(kind=FaultKind.HANG, after_chunks=5, match=Match(agent="a"))
        learned.provider.control.add_fault(hang)
        agent = learned.agent("a", LONG, max_output_tokens=1_000, budget={"learned_holds": 0.9})
        task = await learned.run(agent, session_id="tight")
    shown = task["agents"]["a"]
    assert (shown["status"], shown["output_capped"]) == ("completed", True)

    async def ended() -> End | None:
        return learned.provider.served()[-1].end

    end = await eventually(ended)
    assert (end.outcome, end.produced_tokens) == (Outcome.CLIENT_GONE, len(shown["reply"].split()))
    assert await learned.spent("session:tight") == prompt + end.produced_tokens
    assert LEAST - 32 < end.produced_tokens <= LEAST
    assert (await learned.dependencies.stores.outputs.seen(TENANT, "a", MODEL))[0] == 1_000
    await learned.audited()


async def test_a_request_that_breaks_off_is_charged_the_whole_cap_although_less_was_held(learned: World) -> None:
    learned.provider.control.add_fault(Fault(kind=FaultKind.DROP, after_chunks=2, match=Match(attempt=1)))
    async with learned.worker():
        agent = learned.agent("a", "word " * 60, max_output_tokens=1_000, budget={"learned_holds": 0.9})
        task = await learned.run(agent)
    first, second = learned.provider.served()
    assert task["status"] == "completed"
    presumed = first.arrival.prompt_tokens + 1_000
    assert await learned.spent(f"task:{task['task_id']}") == presumed + second.charged_tokens
    assert (await kinds(learned, task["task_id"]))[:2] == ["hold", "presumed"]
    await learned.audited()


async def test_a_tool_call_that_is_cut_never_runs_and_the_gate_decides_on_the_next_turn(learned: World) -> None:
    ran = []

    @activity.defn(name="note")
    async def note(call: Called) -> ToolResult:
        ran.append(call)
        raise AssertionError("a tool call without its arguments ran")

    function = FunctionCall(name="note", arguments=json.dumps({"text": LONG}))
    tool = {"name": "note", "description": "Notes.", "parameters": {"type": "object"}}
    async with learned.worker(note):
        asks = Reply(tool_calls=(ToolCall(id="call-1", function=function),))
        agent = learned.agent("a", asks, max_output_tokens=1_000, tools=[tool], budget={"learned_holds": 0.9})
        await learned.budget("session:tight", limit_tokens=200, mode="hard")
        task = await learned.run(agent, session_id="tight")
    shown = task["agents"]["a"]
    assert (shown["status"], shown["reason"], shown["output_capped"]) == ("refused", "limit", True)
    assert ran == []
    rows = await learned.pool.fetch("select body from messages where tenant = $1 and role = 'tool'", TENANT)
    assert ["not a complete JSON object" in row["body"]["content"] for row in rows] == [True]
    await learned.audited()
