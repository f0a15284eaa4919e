"""Timelines of tasks that really ran."""

import uuid
from collections.abc import AsyncIterator

import pytest
from temporalio.client import Client

from purser.activities.postgres.timeline import Timelines
from purser.activities.tasks.timeline import StepKind
from purser.budget.approvals import Approver, Choice, DecisionRequest, Identity
from purser.budget.postgres.connections.pools import Pool
from purser.context.conversation.messages import Message
from tests.support.world import TENANT, World, calls, eventually, world_of
from tests.support.world import quick_pool as quick_pool

BOSS = Approver("boss", None, ("approver",), Identity.KEY)
SHORT = {"history_window_size": 10, "primers_count": 2, "recents_count": 4}


@pytest.fixture
async def system(pool: Pool, quick_pool: Pool, temporal_client: Client, task_queue: str) -> AsyncIterator[World]:
    async with world_of(pool, quick_pool, temporal_client, task_queue) as made, made.worker():
        yield made


async def kinds(system: World, task_id: str, tenant: str = TENANT) -> list[tuple[str, int, list[str]]]:
    """Agent, number and kinds of steps of every turn. A busy machine decides how long something is queued."""
    task = await system.tasks.get(TENANT, task_id)
    page = await Timelines(system.pool).turns(tenant, task_id, ended_at=task["ended_at"])
    return [
        (turn.agent_id, turn.number, [step.kind for step in turn.steps if step.kind is not StepKind.QUEUED])
        for turn in page.turns
    ]


async def test_turns_of_a_task_are_shown_with_their_cost(system: World) -> None:
    task = await system.run(
        system.agent("a", calls("nothing_of_the_kind"), "Done."), system.agent("b", depends_on=["a"])
    )
    plain = ["admitted", "called", "settled"]
    assert await kinds(system, task["task_id"]) == [("a", 1, plain), ("a", 2, plain), ("b", 1, plain)]
    turns = (await Timelines(system.pool).turns(TENANT, task["task_id"])).turns
    spent = await system.spent(f"task:{task['task_id']}")
    assert sum(turn.tokens for turn in turns) == spent > 0
    assert sum(turn.nano_usd for turn in turns) == sum(agent["nano_usd"] for agent in task["agents"].values())
    assert all(turn.model == "openai/gpt-4o" for turn in turns)


async def test_a_delay_and_the_approver_are_shown(system: World) -> None:
    await system.budget("session:slow", limit_tokens=10, backpressure=[["1.00", 120]])
    agent = system.agent("a", budget={"limit_tokens": 10, "mode": "approval"})
    task_id = await system.submit(agent, session_id="slow")
    find = "select approval_id from approvals where state = 'pending'"
    approval_id = str(await eventually(lambda: system.pool.fetchval(find)))
    assert await kinds(system, task_id) == [("a", 1, ["asked"])]
    await system.approvals.record_decision(TENANT, DecisionRequest(approval_id, uuid.uuid4().hex, Choice.APPROVE), BOSS)
    system.dispatcher.poke()
    await system.end(task_id)
    assert await kinds(system, task_id) == [("a", 1, ["asked", "admitted", "delayed", "called", "settled"])]
    [turn] = (await Timelines(system.pool).turns(TENANT, task_id)).turns
    [asked] = [step for step in turn.steps if step.kind is StepKind.ASKED]
    [delayed] = [step for step in turn.steps if step.kind is StepKind.DELAYED]
    assert (asked.note, asked.ref) == ("boss", approval_id)
    assert delayed.note.startswith("120 ms by session:slow at ")
    assert delayed.end is not None
    assert (delayed.end - delayed.start).total_seconds() >= 0.12


async def test_a_compression_for_which_a_turn_waited_belongs_to_that_turn(system: World) -> None:
    session_id = f"long-{uuid.uuid4().hex[:8]}"
    said = [Message(("user", "assistant")[n % 2], f"Sentence {n} tells about topic {n}. " * 12) for n in range(40)]
    await system.conversations.append(TENANT, session_id, said, origin="talk")
    agent = system.agent("a", budget={"limit_tokens": 3_000, "mode": "hard"})  # the window would overflow
    task = await system.run(agent, session_id=session_id, context=SHORT)
    shown = {kind for _, _, kinds in await kinds(system, task["task_id"]) for kind in kinds}
    assert StepKind.COMPRESSED in shown
    step = next(
        step
        for turn in (await Timelines(system.pool).turns(TENANT, task["task_id"])).turns
        for step in turn.steps
        if step.kind is StepKind.COMPRESSED
    )
    assert step.tokens > 0
    assert step.note.startswith("version 1, ")


async def test_pages_go_from_the_newest_turns_to_the_oldest_without_gap_or_repetition(system: World) -> None:
    replies = [calls("nothing_of_the_kind") for _ in range(6)]
    task = await system.run(system.agent("a", *replies, "Done."), system.agent("b", *replies[:3], "Done."))
    store, seen, before = Timelines(system.pool), [], None
    while True:
        page = await store.turns(TENANT, task["task_id"], before=before, limit=4)
        seen.append([(turn.agent_id, turn.number) for turn in page.turns])
        if (before := page.before) is None:
            break
    flat = [turn for one in seen for turn in one]
    assert len(flat) == len(set(flat)) == sum(agent["turns"] for agent in task["agents"].values()) == 11
    assert max(map(len, seen)) == 4


async def test_a_task_of_another_tenant_has_no_turns(system: World) -> None:
    task = await system.run(system.agent("a"))
    assert await kinds(system, task["task_id"], tenant="other") == []
