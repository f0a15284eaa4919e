"""Tools of a worker that knows only the client: called by reference, charged what they say."""

import uuid
from functools import partial
from typing import Any

import pytest

from purser.budget.scopes import Scope
from purser.gateway.access.roles import Role
from purser.gateway.postgres.keys import Keys
from purser_client import AsyncPurser
from purser_client.paths import current_path
from purser_client.temporal import ToolReply, tool
from tests.client.conftest import PATIENCE, World
from tests.support.actors import TESTER
from tests.support.world import TENANT, calls
from tests.support.world import world as house_of
from tests.workflows.test_tools import results

TOOL: dict[str, Any] = {"name": "plus", "description": "Adds.", "parameters": {"type": "object"}, "activity": "add"}


async def add(one: int, two: int) -> ToolReply:
    """Adds, and says whose budget this is."""
    return ToolReply(f"{one + two} for {' '.join(current_path())}", nano_usd=4_000_000)


class Adding:
    """A tool that is an object, which may hold what it needs."""

    async def __call__(self, one: int, two: int) -> str:
        return str(one + two)


async def test_a_function_that_is_not_async_is_refused_before_a_worker_runs() -> None:
    async with AsyncPurser("http://127.0.0.1:1", "key") as purser:
        tool(purser, Adding(), name="add")
        tool(purser, partial(add, 1), name="add")
        with pytest.raises(TypeError, match="the function of tool 'add' must be async: declare it with `async def`"):
            tool(purser, lambda: "3", name="add")  # type: ignore[arg-type, return-value]


async def test_a_tool_gets_its_arguments_and_stores_its_result_and_its_cost(
    own_world: World, dsn: str, temporal_client: Any, task_queue: str
) -> None:
    made = await Keys(own_world.gateway.pool).create(TENANT, f"tools-{uuid.uuid4()}", Role.AGENT, by=TESTER)
    async with (
        AsyncPurser(own_world.gateway.url, made.secret, patience=PATIENCE) as purser,
        house_of(dsn, temporal_client, task_queue) as house,
        house.worker(tool(purser, add, name="add")),
    ):
        await house.budget("tool:plus", limit_nano_usd=30_000_000, mode="hard")
        paid = [TOOL | {"price_usd": "0.01"}]
        agent = house.agent("a", calls("plus", "plus", one=2, two=3), "Five.", tools=paid)
        task = await house.run(agent, session_id="s")
        name = task["task_id"]
        assert task["agents"]["a"]["reply"] == "Five."
        assert await results(house, name) == [f"5 for session:s task:{name} agent:{name}/a"] * 2
        spent = (await house.policies.budget(TENANT, Scope.parse("tool:plus"))).spent
        assert spent.nano_usd == 2 * 4_000_000


async def test_arguments_that_the_tool_does_not_take_are_not_tried_again(
    own_world: World, dsn: str, temporal_client: Any, task_queue: str
) -> None:
    made = await Keys(own_world.gateway.pool).create(TENANT, f"tools-{uuid.uuid4()}", Role.AGENT, by=TESTER)
    async with (
        AsyncPurser(own_world.gateway.url, made.secret, patience=PATIENCE) as purser,
        house_of(dsn, temporal_client, task_queue) as house,
        house.worker(tool(purser, add, name="add")),
    ):
        task = await house.run(house.agent("a", calls("plus", three=3), "Sorry.", tools=[TOOL]))
        assert await results(house, task["task_id"]) == ["error: the tool failed (InvalidArguments)"]
