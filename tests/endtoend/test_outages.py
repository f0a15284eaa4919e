"""Postgres away for seconds and Temporal restarted while a task runs: it finishes, and the books are right."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest
from temporalio.client import Client

from purser.compose.demo.provider import Match
from purser.compose.migrate import migrate
from purser.compose.stack.postgres import EmbeddedPostgres
from purser.compose.stack.temporal import EmbeddedTemporal
from tests.support.proof import sized
from tests.support.world import World, calls, world

pytestmark = pytest.mark.stack
AWAY_S = sized(2, 10)
ENDS_WITHIN_S = 150.0


@dataclass
class House:
    """Servers of this test's own, and a world with a worker on them."""

    postgres: EmbeddedPostgres
    temporal: EmbeddedTemporal
    world: World


@pytest.fixture
async def house(tmp_path_factory: pytest.TempPathFactory, task_queue: str) -> AsyncIterator[House]:
    """A Postgres and a Temporal that the test may stop."""
    base = tmp_path_factory.mktemp("outage")
    postgres = EmbeddedPostgres(base / "postgres")
    temporal = EmbeddedTemporal(base / "temporal", durable=True)
    dsn = await postgres.start()
    try:
        await migrate(dsn)
        client = await Client.connect(await temporal.start())
        async with world(dsn, client, task_queue) as made, made.worker():
            yield House(postgres, temporal, made)
    finally:
        temporal.stop()
        await asyncio.to_thread(postgres.stop)


@pytest.mark.proof
async def test_a_task_outlives_its_ledger_and_its_engine(house: House) -> None:
    made, control = house.world, house.world.provider.control
    turns = [calls("undeclared", n=turn) for turn in range(4)]
    control.hold(Match(attempt=1))
    task_id = await made.submit(made.agent("a", *turns, "Done."), made.agent("b", depends_on=["a"]))

    async with asyncio.timeout(ENDS_WITHIN_S):
        await control.wait_held()
        await asyncio.to_thread(house.postgres.stop)
        control.continue_held()
        served = len(made.provider.served())
        await asyncio.sleep(AWAY_S)
        assert len(made.provider.served()) == served, "no call reaches the provider while the ledger is away"
        await house.postgres.start()

        control.hold(Match(attempt=1))
        await control.wait_held()
        await asyncio.to_thread(house.temporal.stop)
        control.continue_held()
        await house.temporal.start()
        task = await finished(made, task_id)

    assert task["status"] == "completed"
    assert task["agents"]["a"]["turns"] == 5
    charged = await made.pool.fetchval("select sum(tokens) from attempts")
    presumed = await made.pool.fetchval("select coalesce(sum(tokens), 0) from attempts where state = 'presumed'")
    assert charged - presumed == sum(one.charged_tokens for one in made.provider.served())
    assert await made.spent(f"task:{task_id}") == charged
    await made.audited()


async def finished(made: World, task_id: str) -> dict[str, Any]:
    """What the page of a task shows at its end, however long that takes."""
    while True:
        try:
            return await made.end(task_id)
        except TimeoutError:
            continue
