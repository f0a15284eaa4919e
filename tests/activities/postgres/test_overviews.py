"""Queries for the pages of tasks."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from temporalio.client import Client

from purser.activities.postgres.overviews import Cost, Overviews
from purser.activities.postgres.tasks import Tasks
from purser.activities.tasks.file import TaskFile
from purser.budget.gate import Amount
from purser.budget.postgres.connections.pools import Pool
from purser.budget.postgres.ledger.policies import Policies
from purser.budget.postgres.ledger.settings import LedgerSettings
from purser.context.postgres.conversation.conversations import Conversations
from purser.workflows.contract import TaskStatus
from tests.support.agents import MODEL
from tests.support.world import TENANT as WORLDS
from tests.support.world import World, world_of
from tests.support.world import quick_pool as quick_pool

TENANT = "acme"
AGENTS = [{"id": name, "model": "gpt-4o", "instructions": "Be brief."} for name in ("a", "b")]


@pytest.fixture
async def system(pool: Pool, quick_pool: Pool, temporal_client: Client, task_queue: str) -> AsyncIterator[World]:
    async with world_of(pool, quick_pool, temporal_client, task_queue) as made, made.worker():
        yield made


@pytest.fixture
async def overviews(pool: Pool) -> Overviews:
    """Overviews of eight tasks t0 to t7, two in each state."""
    tasks = Tasks(pool, Policies(pool, LedgerSettings()), Conversations(pool))
    for number in range(8):
        body: dict[str, Any] = {"session_id": f"s{number % 2}", "task_id": f"t{number}", "input": "Hello."}
        await tasks.submit(TENANT, TaskFile.parse(body | {"agents": AGENTS}, ()), f"Ann{number}")
    for status, ids in (("completed", ["t2", "t3"]), ("paused", ["t4", "t5"])):
        await pool.execute("update tasks set status = $1 where task_id = any($2)", status, ids)
    await pool.execute(
        "update agents set status = 'waiting_approval' where agent_id = 'a' and task_id = any($1)", ["t3", "t6", "t7"]
    )
    await pool.execute("update agents set ended_at = now() where task_id = 't2' and agent_id = 'a'")
    return Overviews(pool)


@pytest.mark.parametrize(
    ("state", "found"),
    [
        (None, "t7 t6 t5 t4 t3 t2 t1 t0"),
        (TaskStatus.RUNNING, "t1 t0"),
        (TaskStatus.WAITING_APPROVAL, "t7 t6"),
        (TaskStatus.COMPLETED, "t3 t2"),
        (TaskStatus.PAUSED, "t5 t4"),
        (TaskStatus.FAILED, ""),
    ],
)
async def test_tasks_are_found_by_state_newest_first(
    overviews: Overviews, state: TaskStatus | None, found: str
) -> None:
    rows = await overviews.page(TENANT, state=state)
    assert [row.task_id for row in rows] == found.split()
    if state is not None:
        assert {row.state for row in rows} <= {state}


async def test_states_are_counted_as_the_filter_finds_them(overviews: Overviews) -> None:
    counts = await overviews.counts(TENANT)
    assert counts == {
        TaskStatus.RUNNING: 2,
        TaskStatus.WAITING_APPROVAL: 2,
        TaskStatus.COMPLETED: 2,
        TaskStatus.PAUSED: 2,
    }


@pytest.mark.parametrize(
    ("search", "found"), [("T3", "t3"), ("ann5", "t5"), (" s1 ", "t7 t5 t3 t1"), ("nobody", ""), ("%", ""), ("_", "")]
)
async def test_search_looks_into_ids_and_submitters_and_knows_no_wildcards(
    overviews: Overviews, search: str, found: str
) -> None:
    assert [row.task_id for row in await overviews.page(TENANT, search=search)] == found.split()


async def test_pages_continue_where_the_last_one_ended(overviews: Overviews) -> None:
    first = await overviews.page(TENANT, limit=3)
    rest = await overviews.page(TENANT, limit=9, before=first[-1].number)
    assert [row.task_id for row in (*first, *rest)] == [f"t{number}" for number in range(7, -1, -1)]


async def test_progress_counts_agents_that_have_ended(overviews: Overviews) -> None:
    progress = {row.task_id: (row.agents_ended, row.agents) for row in await overviews.page(TENANT)}
    assert (progress["t2"], progress["t1"]) == ((1, 2), (0, 2))


async def test_another_tenant_sees_nothing(overviews: Overviews) -> None:
    assert await overviews.page("other") == []
    assert await overviews.counts("other") == {}


async def test_costs_are_listed_by_agent_and_model_and_add_up(system: World) -> None:
    task = await system.run(system.agent("a"), system.agent("b", model="openai/gpt-4o-mini", depends_on=["a"]))
    costs = await Overviews(system.pool).costs(WORLDS, task["task_id"])
    assert [(cost.agent_id, cost.model, cost.holds) for cost in costs] == [
        ("a", MODEL, 1),
        ("b", "openai/gpt-4o-mini", 1),
    ]
    assert all(isinstance(cost, Cost) for cost in costs)
    [row] = await Overviews(system.pool).page(WORLDS)
    assert row.tokens == sum(cost.tokens for cost in costs) > 0
    assert row.nano_usd == sum(cost.nano_usd for cost in costs) > 0
    assert (row.agents_ended, row.agents, row.state) == (2, 2, TaskStatus.COMPLETED)
    assert await Overviews(system.pool).costs("other", task["task_id"]) == []
    assert await Overviews(system.pool).agents("other", task["task_id"]) == {}


async def test_requests_of_a_task_are_listed_once(system: World) -> None:
    tight = {"agent": {"limit_usd": "0.000000001", "mode": "approval"}}
    task_id = await system.submit(system.agent("a"), budget=tight)
    await system.until(task_id, lambda task: task["status"] == "waiting_approval")
    [request] = await Overviews(system.pool).approvals(WORLDS, task_id)
    assert (request.state, request.scope, request.decided_at) == ("pending", f"agent:{task_id}/a", None)
    assert (request.asked.tokens, request.granted) == (0, Amount())
    assert request.asked.nano_usd > 0
    assert await Overviews(system.pool).approvals("other", task_id) == []
