"""Tasks whose workflow is gone end all the same; a Temporal that does not answer says nothing about them."""

from dataclasses import replace
from datetime import timedelta

import pytest
from temporalio.client import Client
from temporalio.service import RPCError

from activities.postgres.agents import Agents
from activities.vanished import Vanished
from compose.stack.ports import free_port
from tests.support.world import TENANT, World, eventually, world
from workflows.contract import TaskRef


def vanished(world: World) -> Vanished:
    return Vanished(world.client, world.pool, Agents(world.pool), world.ledger, world.approvals)


async def checked_long_ago(world: World) -> None:
    await world.pool.execute("update tasks set checked_at = now() - interval '2 minutes'")


async def test_a_terminated_task_ends_and_what_it_held_is_released(house: World) -> None:
    await house.budget("session:slow", limit_tokens=10, backpressure=[["1.00", 60_000]])
    task_id = await house.submit(house.agent("a"), session_id="slow")
    await eventually(lambda: house.pool.fetchval("select count(*) from holds where state = 'held'"))
    await house.workflow(task_id).terminate()
    await checked_long_ago(house)
    assert await vanished(house).sweep() == 1
    task = await house.tasks.get(TENANT, task_id)
    assert (task["status"], task["reason"]) == ("cancelled", "workflow_terminated")
    assert task["agents"]["a"]["status"] == "cancelled"
    assert await house.pool.fetchval("select count(*) from holds where state = 'held'") == 0
    ended = await house.pool.fetch("select kind from scopes where ended_at is not null order by kind")
    assert [row["kind"] for row in ended] == ["agent", "task"], "its budgets leave the metrics"
    assert await vanished(house).sweep() == 0
    await house.audited()


async def test_a_task_that_temporal_has_lost_fails_after_a_day_or_at_once_if_somebody_cancels_it(
    dsn: str, temporal_client: Client, task_queue: str
) -> None:
    async with world(dsn, temporal_client, task_queue, background=False) as still:
        refs = [TaskRef(await still.submit(still.agent("a")), TENANT) for _ in range(2)]
        assert not await vanished(still).ended(refs[0], lost_for=timedelta(0)), "its order to start is under way"
        await still.pool.execute("delete from outbox")
        assert not await vanished(still).ended(refs[0]), "somebody may start it again"
        await still.pool.execute(
            "update tasks set lost_at = now() - interval '25 hours' where task_id = $1", refs[0].task_id
        )
        assert await vanished(still).ended(refs[0])
        assert await vanished(still).ended(refs[1], lost_for=timedelta(0))
        for ref in refs:
            task = await still.tasks.get(TENANT, ref.task_id)
            assert (task["status"], task["reason"]) == ("failed", "workflow_lost")
            assert task["agents"]["a"]["reason"] == "workflow_lost"


async def test_a_temporal_that_does_not_answer_ends_no_task(dsn: str, temporal_client: Client, task_queue: str) -> None:
    nobody = await Client.connect(f"127.0.0.1:{free_port()}", lazy=True)
    async with world(dsn, temporal_client, task_queue, background=False) as still:
        ref = TaskRef(await still.submit(still.agent("a")), TENANT)
        await still.pool.execute("delete from outbox")
        with pytest.raises((RPCError, RuntimeError)):
            await replace(vanished(still), client=nobody).ended(ref)
        assert (await still.tasks.get(TENANT, ref.task_id))["status"] == "running"
