"""Tools: called by activity name, with arguments and results by reference; failures are reported to the model."""

import asyncio
import json
import uuid
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from temporalio import activity
from temporalio.api.enums.v1 import EventType
from temporalio.client import WorkflowHandle
from temporalio.common import RetryPolicy
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError
from temporalio.workflow import ActivityConfig

from purser.activities.calls.settlements import MAX_TOOL_CALLS
from purser.activities.runtime.registry import Activity, all_activities
from purser.activities.tools import NO_RESULT, Tools
from purser.budget.approvals import Approver, Choice, DecisionRequest, Identity
from purser.budget.gate import Amount
from purser.budget.holds import HoldRequest
from purser.budget.scopes import Path, Scope
from purser.compose.demo.provider import FunctionCall, Reply
from purser.compose.demo.provider import ToolCall as FunctionCalled
from purser.compose.processes.worker import make_worker
from purser.workflows import options
from purser.workflows.contract import ActivityName, Message, ToolAsk, ToolCall, ToolResult
from tests.support.world import TENANT, World, calls, eventually, named

TOOL = {"description": "Adds.", "parameters": {"type": "object"}}


def declared(*names: str, activity: str | None = None) -> list[dict[str, object]]:
    return [{"name": name, **TOOL, **({"activity": activity} if activity else {})} for name in names]


async def results(world: World, task_id: str) -> list[str]:
    """Texts of all tool messages of a task, in order."""
    rows = await world.pool.fetch("select body from messages where tenant = $1 and role = 'tool' order by seq", TENANT)
    return [row["body"]["content"] for row in rows]


async def test_an_agent_gets_what_its_tools_return_and_answers(idle: World) -> None:
    @activity.defn(name="add")
    async def add(call: ToolCall) -> ToolResult:
        tools = Tools(idle.pool)
        name, arguments = await tools.load_arguments(call)
        return await tools.store_result(call, f"{name}: {arguments['one'] + arguments['two']}")

    agent = idle.agent("a", calls("plus", "plus", one=2, two=3), "Five.", tools=declared("plus", activity="add"))
    async with idle.worker(add):
        task = await idle.run(agent)
    assert task["agents"]["a"]["reply"] == "Five."
    assert task["agents"]["a"]["turns"] == 2
    assert await results(idle, task["task_id"]) == ["plus: 5", "plus: 5"]
    await idle.audited()


async def test_a_tool_that_fails_for_good_becomes_a_result_that_says_so_without_its_text(idle: World) -> None:
    @activity.defn(name="broken")
    async def broken(call: ToolCall) -> ToolResult:
        raise ApplicationError("canary-1f", type="OutOfOrder", non_retryable=True)

    agent = idle.agent("a", calls("broken"), "Never mind.", tools=declared("broken"))
    async with idle.worker(broken):
        task = await idle.run(agent)
    assert task["status"] == "completed"
    assert await results(idle, task["task_id"]) == ["error: the tool failed (OutOfOrder)"]


async def test_the_type_of_a_failure_may_hold_what_cannot_be_stored(idle: World) -> None:
    @activity.defn(name="broken")
    async def broken(call: ToolCall) -> ToolResult:
        raise ApplicationError("no", type="Out\0OfOrder", non_retryable=True)

    async with idle.worker(broken):
        task = await idle.run(idle.agent("a", calls("broken"), "Never mind.", tools=declared("broken")))
    assert task["status"] == "completed"
    assert await results(idle, task["task_id"]) == ["error: the tool failed (Out\ufffdOfOrder)"]


async def test_a_tool_that_stores_no_result_is_reported_to_the_model(idle: World) -> None:
    def forgetful(name: str, returned: Any) -> Activity:
        @activity.defn(name=name)
        async def forgets(call: ToolCall) -> Any:
            return returned

        return forgets

    returning: dict[str, Any] = {"text": "sunny", "none": None, "other": {"answer": "sunny"}, "unknown": {"seq": 999}}

    @activity.defn(name="add")
    async def add(call: ToolCall) -> ToolResult:
        return await Tools(idle.pool).store_result(call, "5")

    first, second = calls("text", "plus", "none", "other", "unknown"), calls("text")
    tools = [*declared(*returning), *declared("plus", activity="add")]
    async with idle.worker(*(forgetful(name, returned) for name, returned in returning.items()), add):
        task = await idle.run(idle.agent("a", first, second, "Never mind.", tools=tools))
    assert task["agents"]["a"]["reply"] == "Never mind."
    assert sorted(await results(idle, task["task_id"])) == ["5", *[NO_RESULT] * 5]
    for one in idle.provider.served():
        messages = json.loads(one.arrival.text or "")["messages"]
        called = [call["id"] for message in messages for call in message.get("tool_calls") or ()]
        answered = [message["tool_call_id"] for message in messages if message["role"] == "tool"]
        assert sorted(called) == sorted(answered), "a provider refuses a call without a result"
    await idle.audited()


async def test_a_call_without_complete_arguments_is_sent_on_as_one_without_any(system: World) -> None:
    incomplete = ['{"text": "a long text that is cut o', "[1]"]
    functions = [FunctionCall(name="add", arguments=arguments) for arguments in incomplete]
    broken = Reply(tool_calls=tuple(FunctionCalled(id=f"call-{n}", function=one) for n, one in enumerate(functions)))
    task = await system.run(system.agent("a", broken, "Never mind.", tools=declared("add")))
    assert task["agents"]["a"]["reply"] == "Never mind."
    assert ["not a complete JSON object" in one for one in await results(system, task["task_id"])] == [True, True]
    _, second = system.provider.served()
    sent = [
        call
        for message in json.loads(second.arrival.text or "")["messages"]
        for call in message.get("tool_calls") or ()
    ]
    # Clients of several providers parse the arguments of earlier calls, and take only objects.
    assert [call["function"] for call in sent] == [{"name": "add", "arguments": "{}"}] * 2
    stored = await system.pool.fetchval("select body from messages where role = 'assistant' order by seq limit 1")
    assert [call["function"]["arguments"] for call in stored["tool_calls"]] == incomplete


async def test_a_tool_that_was_never_declared_is_reported_to_the_model(system: World) -> None:
    task = await system.run(system.agent("a", calls("invented"), "Sorry."))
    assert task["agents"]["a"]["reply"] == "Sorry."
    assert "no tool of this name" in (await results(system, task["task_id"]))[0]


async def test_of_a_reply_with_very_many_tool_calls_only_as_many_are_kept_as_can_run(system: World) -> None:
    many = calls(*["invented"] * (MAX_TOOL_CALLS + 22))
    task = await system.run(system.agent("a", many, max_output_tokens=10_000, max_turns=2))
    assert (task["status"], task["agents"]["a"]["turns"]) == ("completed", 2)
    assert len(await results(system, task["task_id"])) == MAX_TOOL_CALLS
    reply = await system.pool.fetchval("select body from messages where role = 'assistant' order by seq limit 1")
    assert [call["id"] for call in reply["tool_calls"]] == [call.id for call in many.tool_calls[:MAX_TOOL_CALLS]]
    await system.audited()


async def test_of_several_results_of_one_call_the_first_stays(idle: World) -> None:
    seen: list[ToolResult] = []

    @activity.defn(name="twice")
    async def twice(call: ToolCall) -> ToolResult:
        tools = Tools(idle.pool)
        seen.extend([await tools.store_result(call, "first"), await tools.store_result(call, "second")])
        return seen[-1]

    async with idle.worker(twice):
        task = await idle.run(idle.agent("a", calls("twice"), "Done.", tools=declared("twice")))
    assert await results(idle, task["task_id"]) == ["first"]
    assert seen[0] == seen[1]


async def test_a_result_that_is_too_long_is_replaced_by_a_message_that_says_so(
    idle: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("purser.activities.tools.MAX_RESULT", 100)
    lengths = iter([100, 101])

    @activity.defn(name="read")
    async def read(call: ToolCall) -> ToolResult:
        return await Tools(idle.pool).store_result(call, "x" * next(lengths))

    async with idle.worker(read):
        task = await idle.run(idle.agent("a", calls("read"), calls("read"), "Done.", tools=declared("read")))
    assert await results(idle, task["task_id"]) == [
        "x" * 100,
        "error: the result has 101 characters, and at most 100 are kept; ask for less",
    ]


async def test_an_agent_stops_at_its_last_turn_without_running_its_tools(system: World) -> None:
    task = await system.run(system.agent("a", calls("add"), "Too late.", tools=declared("add"), max_turns=1))
    agent = task["agents"]["a"]
    assert (agent["status"], agent["reason"], agent["turns"]) == ("completed", "max_turns", 1)
    assert await results(system, task["task_id"]) == []


async def test_an_agent_that_stops_without_a_text_has_no_reply_for_anyone(system: World) -> None:
    silent = {"tools": declared("add"), "max_turns": 1}
    task = await system.run(
        system.agent("a", calls("add"), **silent),
        system.agent("b", Reply(content="\n", tool_calls=calls("add").tool_calls), **silent),
        system.agent("c", "Alone.", depends_on=["a", "b"]),
        system.agent("d", calls("add"), **silent),
        session_id="s",
    )
    assert {name: agent["reply"] for name, agent in task["agents"].items()} == {
        "a": None, "b": None, "c": "Alone.", "d": None,
    }  # fmt: skip
    published = await system.conversations.read_thread(TENANT, "s")
    assert [one.message.text for one in published] == ["Say something.", "Alone."]
    [alone] = [json.loads(one.arrival.text or "") for one in system.provider.served() if one.arrival.agent == "c"]
    assert [message["role"] for message in alone["messages"]] == ["system", "user"]


async def test_a_paid_tool_is_held_for_before_it_runs_and_refused_without_room(idle: World) -> None:
    held: list[int] = []

    @activity.defn(name="search")
    async def search(call: ToolCall) -> ToolResult:
        tools = Tools(idle.pool)
        held.append((await idle.policies.budget(TENANT, Scope.parse("tool:search"))).held.nano_usd)
        if activity.info().attempt < 2:
            raise ApplicationError("not yet")
        stored = await tools.store_result(call, "found")
        return ToolResult(stored.seq, nano_usd=4_000_000)

    await idle.budget("tool:search", limit_nano_usd=13_000_000, mode="hard")
    paid = [{"name": "search", **TOOL, "price_usd": "0.01"}]
    async with idle.worker(search):
        task = await idle.run(idle.agent("a", calls("search"), calls("search"), "Done.", tools=paid))
    assert held == [10_000_000, 10_000_000]
    assert await results(idle, task["task_id"]) == [
        "found",
        "error: the budget has no room for this tool; go on without it",
    ]
    spent = (await idle.policies.budget(TENANT, Scope.parse("tool:search"))).spent
    assert spent == Amount(0, 4_000_000)
    agent = (await idle.policies.budget(TENANT, Scope.parse(f"agent:{task['task_id']}/a"))).spent
    assert agent.nano_usd >= 4_000_000
    await idle.audited()


def paid(*names: str) -> list[dict[str, object]]:
    return [{"name": name, **TOOL, "price_usd": "0.01"} for name in names]


PRICE = 10_000_000


async def test_a_paid_tool_that_fails_for_good_is_charged_its_price_once_unless_it_never_ran(
    idle: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    @activity.defn(name="broken")
    async def broken(call: ToolCall) -> ToolResult:
        raise ApplicationError("no", type="Down")

    @activity.defn(name="lost")
    async def lost(call: ToolCall) -> ToolResult:
        raise ApplicationError("no such page", type="NotFoundError")

    @activity.defn(name="silent")
    async def silent(call: ToolCall) -> ToolResult:
        await asyncio.sleep(3_600)
        raise AssertionError

    tried = asyncio.Event()

    @activity.defn(name="left")
    async def left(call: ToolCall) -> ToolResult:
        """Its worker stops before the next attempt."""
        tried.set()
        raise ApplicationError("later", next_retry_delay=timedelta(seconds=2))

    costs = {"broken": PRICE, "lost": PRICE, "silent": PRICE, "left": PRICE, "unknown": 0, "nobody": 0}
    queues = {name: {"task_queue": f"{idle.task_queue}-{name}"} for name in ("left", "nobody")}
    tools = [tool | queues.get(str(tool["name"]), {}) for tool in paid(*costs)]
    short = ActivityConfig(
        schedule_to_close_timeout=timedelta(seconds=4),
        start_to_close_timeout=timedelta(seconds=1),
        retry_policy=RetryPolicy(initial_interval=timedelta(milliseconds=10), maximum_attempts=2),
    )
    monkeypatch.setattr(options, "TOOL", short)
    for name in costs:
        await idle.budget(f"tool:{name}", limit_nano_usd=10 * PRICE)
    async with idle.worker(broken, lost, silent, grace=timedelta()):
        async with make_worker(idle.client, f"{idle.task_queue}-left", [left], timedelta()):
            task_id = await idle.submit(idle.agent("a", calls(*costs), "Done.", tools=tools))
            await tried.wait()
        task = await idle.end(task_id)
    assert (task["agents"]["a"]["reply"], len(await results(idle, task_id))) == ("Done.", len(costs))
    spent = {name: (await idle.policies.budget(TENANT, Scope.parse(f"tool:{name}"))).spent for name in costs}
    assert spent == {name: Amount(0, nano_usd) for name, nano_usd in costs.items()}
    await idle.audited()


def found_by(world: World, name: str, seen: list[Amount] | None = None) -> Activity:
    """A tool that notes what is held for it, and finds something."""

    @activity.defn(name=name)
    async def find(call: ToolCall) -> ToolResult:
        if seen is not None:
            seen.append((await world.policies.budget(TENANT, Scope.parse(f"tool:{name}"))).held)
        return await Tools(world.pool).store_result(call, f"{name}: found")

    return find


async def asked(world: World, task_id: str, scope: str = "tool:search") -> str:
    """Waits until the agent reports that it waits for an approval on this scope; returns the id of the request."""
    await world.until(task_id, lambda task: task["agents"]["a"]["status"] == "waiting_approval")
    [pending] = [one for one in (await world.approvals.list(TENANT)).requests if str(one.scope) == scope]
    return pending.approval_id


async def decide(world: World, approval_id: str, choice: Choice) -> None:
    boss = Approver("boss", None, ("approver",), Identity.KEY)
    await world.approvals.record_decision(TENANT, DecisionRequest(approval_id, uuid.uuid4().hex, choice), boss)
    world.dispatcher.poke()


async def test_paid_tools_short_of_one_budget_share_an_approval_and_run_once_it_is_granted(idle: World) -> None:
    await idle.budget("tool:search", limit_nano_usd=PRICE, mode="approval")
    agent = idle.agent("a", calls("search", "search", "search"), "Done.", tools=paid("search"))
    async with idle.worker(found_by(idle, "search")):
        task_id = await idle.submit(agent)
        await eventually(lambda: idle.pool.fetchval("select count(*) = 2 from approval_waiters where left_at is null"))
        approval_id = await asked(idle, task_id)
        pending = await idle.approvals.get(TENANT, approval_id)
        assert pending.shortage == Amount(0, 2 * PRICE)
        assert [waiter.agent_id for waiter in pending.waiters] == ["a", "a"]
        await decide(idle, approval_id, Choice.APPROVE)
        task = await idle.end(task_id)
    assert task["agents"]["a"]["approvals"] == 1
    assert await results(idle, task_id) == ["search: found"] * 3
    assert (await idle.policies.budget(TENANT, Scope.parse("tool:search"))).spent == Amount(0, 3 * PRICE)
    await idle.audited()


async def test_a_paid_tool_that_is_denied_does_not_run_and_the_model_goes_on(idle: World) -> None:
    await idle.budget("tool:search", limit_nano_usd=1, mode="approval")
    async with idle.worker(found_by(idle, "search")):
        task_id = await idle.submit(idle.agent("a", calls("search"), "Done without.", tools=paid("search")))
        await decide(idle, await asked(idle, task_id), Choice.DENY)
        task = await idle.end(task_id)
    assert (task["status"], task["agents"]["a"]["reply"]) == ("completed", "Done without.")
    assert await results(idle, task_id) == ["error: the budget has no room for this tool; go on without it"]
    assert (await idle.policies.budget(TENANT, Scope.parse("tool:search"))).spent == Amount()
    await idle.audited()


async def test_an_agent_waits_until_the_last_of_its_tools_is_decided(idle: World) -> None:
    for name in ("search", "book"):
        await idle.budget(f"tool:{name}", limit_nano_usd=1, mode="approval")
    agent = idle.agent("a", calls("search", "book"), "Done.", tools=paid("search", "book"))
    async with idle.worker(found_by(idle, "search"), found_by(idle, "book")):
        task_id = await idle.submit(agent)
        await eventually(lambda: idle.pool.fetchval("select count(*) = 2 from approvals where state = 'pending'"))
        await decide(idle, await asked(idle, task_id, "tool:search"), Choice.APPROVE)
        await eventually(lambda: idle.pool.fetchval("select count(*) = 1 from messages where role = 'tool'"))
        # The second wait is reported again when the first has ended.
        await decide(idle, await asked(idle, task_id, "tool:book"), Choice.APPROVE)
        task = await idle.end(task_id)
    assert (task["status"], task["agents"]["a"]["approvals"]) == ("completed", 2)
    await idle.audited()


async def test_a_task_shows_every_request_for_which_tools_of_one_agent_wait(idle: World) -> None:
    for name in ("search", "book"):
        await idle.budget(f"tool:{name}", limit_nano_usd=1, mode="approval")
    agent = idle.agent("a", calls("search", "book"), "Done.", tools=paid("search", "book"))
    async with idle.worker(found_by(idle, "search"), found_by(idle, "book")):
        task_id = await idle.submit(agent)
        await eventually(lambda: _shown(idle, task_id, 2))
        await decide(idle, await asked(idle, task_id, "tool:book"), Choice.APPROVE)
        [left] = await eventually(lambda: _shown(idle, task_id, 1))
        assert left["approval_id"] == await asked(idle, task_id, "tool:search")
        await decide(idle, left["approval_id"], Choice.APPROVE)
        await idle.end(task_id)
        assert await idle.workflow(task_id).query(Message.APPROVALS) == []
    await idle.audited()


async def _shown(world: World, task_id: str, count: int) -> list[dict[str, Any]] | None:
    """The approval requests that the task's workflow shows, if they are so many."""
    try:
        shown: list[dict[str, Any]] = await world.workflow(task_id).query(Message.APPROVALS)
    except RPCError:  # it has not started
        return None
    return shown if len(shown) == count else None


async def test_a_paid_tool_waits_for_open_holds_of_others(idle: World) -> None:
    await idle.budget("tool:search", limit_nano_usd=PRICE, mode="hard")
    ask = HoldRequest("other", Path.parse(["session:x"]), Amount(0, 1), labels=(Scope.parse("tool:search"),))
    other = await idle.ledger.hold(TENANT, ask)
    async with idle.worker(found_by(idle, "search")):
        task_id = await idle.submit(idle.agent("a", calls("search"), "Done.", tools=paid("search")))
        await eventually(lambda: idle.pool.fetchval("select max(asks) > 1 from waiters"))
        assert await results(idle, task_id) == []
        await idle.ledger.release(TENANT, hold_id=other.hold_id)
        await idle.end(task_id)
    assert await results(idle, task_id) == ["search: found"]
    await idle.audited()


async def test_a_paid_tool_that_waits_does_not_run_while_its_task_is_paused(idle: World) -> None:
    await idle.budget("tool:search", limit_nano_usd=PRICE, mode="hard")
    ask = HoldRequest("other", Path.parse(["session:x"]), Amount(0, 1), labels=(Scope.parse("tool:search"),))
    other = await idle.ledger.hold(TENANT, ask)
    async with idle.worker(found_by(idle, "search")):
        task_id = await idle.submit(idle.agent("a", calls("search"), "Done.", tools=paid("search")))
        await eventually(lambda: idle.pool.fetchval("select max(asks) > 1 from waiters"))
        await idle.pause(task_id)
        await idle.ledger.release(TENANT, hold_id=other.hold_id)
        await idle.until(task_id, lambda task: task["agents"]["a"]["status"] in ("paused", "completed"))
        assert await results(idle, task_id) == []
        assert await idle.open_holds() == 0
        await idle.workflow(task_id).signal(Message.RESUME)
        await idle.end(task_id)
    assert await results(idle, task_id) == ["search: found"]
    assert (await idle.policies.budget(TENANT, Scope.parse("tool:search"))).spent == Amount(0, PRICE)
    await idle.audited()


def test_the_key_of_every_hold_of_a_call_says_which_call_it_is() -> None:
    call = ToolCall(TENANT, "s1", "t1", "a", 3, 1)
    keys = [replace(call, ask=ask).key for ask in (1, 2, 3)]
    assert len(set(keys)) == 3
    assert [ToolCall.place(key) for key in keys] == [(3, 1)] * 3


async def test_a_paid_tool_costs_nothing_if_cancelled_before_the_answer_to_its_ask_arrives(idle: World) -> None:
    real = {named(one): one for one in all_activities(idle.dependencies)}[ActivityName.HOLD_TOOL]
    held, never = asyncio.Event(), asyncio.Event()

    @activity.defn(name=ActivityName.HOLD_TOOL)
    async def silent(ask: ToolAsk) -> Any:
        await real(ask)
        held.set()
        await never.wait()

    await idle.budget("tool:search", limit_nano_usd=2 * PRICE)
    async with idle.worker(silent, grace=timedelta()):
        task_id = await idle.submit(idle.agent("a", calls("search"), "Done.", tools=paid("search")))
        await held.wait()
        await idle.workflow(task_id).cancel()
        await idle.end(task_id)
    assert (await idle.policies.budget(TENANT, Scope.parse("tool:search"))).spent == Amount()
    await idle.audited()


async def test_a_cancelled_task_leaves_no_request_of_its_tools(idle: World) -> None:
    await idle.budget("tool:search", limit_nano_usd=1, mode="approval")
    async with idle.worker(found_by(idle, "search")):
        task_id = await idle.submit(idle.agent("a", calls("search"), "Done.", tools=paid("search")))
        approval_id = await asked(idle, task_id)
        await idle.workflow(task_id).cancel()
        task = await idle.end(task_id)
    assert task["status"] == "cancelled"
    assert (await idle.approvals.get(TENANT, approval_id)).state == "withdrawn"
    await idle.audited()


async def test_a_paid_tool_sleeps_out_the_delay_under_its_hold_and_costs_nothing_if_cancelled_then(idle: World) -> None:
    seen: list[Amount] = []
    await idle.budget("tool:search", limit_nano_usd=2 * PRICE, backpressure=[["0.50", 3_600_000]])
    async with idle.worker(found_by(idle, "search", seen)):
        task_id = await idle.submit(idle.agent("a", calls("search"), "Done.", tools=paid("search")))
        await eventually(
            lambda: idle.pool.fetchval("select count(*) = 1 from holds where state = 'held' and key like 'tool/%'")
        )
        agent = idle.workflow(task_id, "a")
        await eventually(lambda: _sleeps(agent))
        [lease] = await idle.pool.fetch(
            "select expires_at - clock_timestamp() > interval '1 hour' as lasts from holds where state = 'held'"
        )
        assert lease["lasts"]
        await idle.workflow(task_id).cancel()
        await idle.end(task_id)
    assert seen == []
    assert (await idle.policies.budget(TENANT, Scope.parse("tool:search"))).spent == Amount()
    await idle.audited()


async def test_a_paid_tool_that_never_ran_costs_nothing_if_cancelled_while_another_tool_runs(idle: World) -> None:
    seen: list[Amount] = []
    started = asyncio.Event()

    @activity.defn(name="slow")
    async def slow(call: ToolCall) -> ToolResult:
        started.set()
        await asyncio.sleep(30)
        return await Tools(idle.pool).store_result(call, "late")

    await idle.budget("tool:search", limit_nano_usd=2 * PRICE, backpressure=[["0.50", 3_600_000]])
    agent = idle.agent("a", calls("slow", "search"), "Done.", tools=[*paid("search"), *declared("slow")])
    async with idle.worker(found_by(idle, "search", seen), slow, grace=timedelta()):
        task_id = await idle.submit(agent)
        await started.wait()
        await eventually(lambda: _sleeps(idle.workflow(task_id, "a")))
        await idle.workflow(task_id).cancel()
        await idle.end(task_id)
    assert seen == []
    assert (await idle.policies.budget(TENANT, Scope.parse("tool:search"))).spent == Amount()
    await idle.audited()


async def _sleeps(agent: WorkflowHandle[Any, Any]) -> bool:
    """Whether the workflow has started its only timer."""
    history = await agent.fetch_history()
    return any(event.event_type == EventType.EVENT_TYPE_TIMER_STARTED for event in history.events)
