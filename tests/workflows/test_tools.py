"""Tools: called by activity name, with arguments and results by reference; failures are reported to the model."""

from temporalio import activity
from temporalio.exceptions import ApplicationError

from purser.activities.tools import Tools
from purser.budget.gate import Amount
from purser.budget.scopes import Scope
from purser.workflows.contract import ToolCall, ToolResult
from tests.support.world import TENANT, World, calls

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


async def test_a_tool_that_was_never_declared_is_reported_to_the_model(system: World) -> None:
    task = await system.run(system.agent("a", calls("invented"), "Sorry."))
    assert task["agents"]["a"]["reply"] == "Sorry."
    assert "no tool of this name" in (await results(system, task["task_id"]))[0]


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


async def test_an_agent_stops_at_its_last_turn_without_running_its_tools(system: World) -> None:
    task = await system.run(system.agent("a", calls("add"), "Too late.", tools=declared("add"), max_turns=1))
    agent = task["agents"]["a"]
    assert (agent["status"], agent["reason"], agent["turns"]) == ("completed", "max_turns", 1)
    assert await results(system, task["task_id"]) == []


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


async def test_a_paid_tool_that_fails_for_good_is_charged_its_price_once(idle: World) -> None:
    @activity.defn(name="broken")
    async def broken(call: ToolCall) -> ToolResult:
        raise ApplicationError("no", type="Down")

    await idle.budget("tool:broken", limit_nano_usd=100_000_000)
    paid = [{"name": "broken", **TOOL, "price_usd": "0.01"}]
    async with idle.worker(broken):
        await idle.run(idle.agent("a", calls("broken"), "Done.", tools=paid))
    assert (await idle.policies.budget(TENANT, Scope.parse("tool:broken"))).spent == Amount(0, 10_000_000)
    await idle.audited()
