"""Postgres unavailable for seconds and Temporal restarted while a task runs: it completes, and the ledger is right."""

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
from tests.support.runs.proof import sized
from tests.support.world import World, calls, world

pytestmark = pytest.mark.stack
AWAY_S = sized(2, 10)
ENDS_WITHIN_S = 150.0


@dataclass
class System:
    """This test's own servers, and a world with a worker on them."""

    postgres: EmbeddedPostgres
    temporal: EmbeddedTemporal
    world: World


@pytest.fixture
async def system(tmp_path_factory: pytest.TempPathFactory, task_queue: str) -> AsyncIterator[System]:
    """A Postgres and a Temporal that the test may stop."""
    base = tmp_path_factory.mktemp("outage")
    postgres = EmbeddedPostgres(base / "postgres")
    temporal = EmbeddedTemporal(base / "temporal", durable=True)
    dsn = await postgres.start()
    try:
        await migrate(dsn)
        client = await Client.connect(await temporal.start())
        async with world(dsn, client, task_queue) as made, made.worker():
            yield System(postgres, temporal, made)
    finally:
        temporal.stop()
        await asyncio.to_thread(postgres.stop)


@pytest.mark.proof
async def test_a_task_outlives_its_ledger_and_its_engine(system: System) -> None:
    made, control = system.world, system.world.provider.control
    turns = [calls("undeclared", n=turn) for turn in range(4)]
    control.hold(Match(attempt=1))
    task_id = await made.submit(made.agent("a", *turns, "Done."), made.agent("b", depends_on=["a"]))

    async with asyncio.timeout(ENDS_WITHIN_S):
        await control.wait_held()
        await asyncio.to_thread(system.postgres.stop)
        control.continue_held()
        requests = len(made.provider.served())
        await asyncio.sleep(AWAY_S)
        assert len(made.provider.served()) == requests, "no call reaches the provider while the ledger is away"
        await system.postgres.start()

        control.hold(Match(attempt=1))
        await control.wait_held()
        await asyncio.to_thread(system.temporal.stop)
        control.continue_held()
        await system.temporal.start()
        task = await finished(made, task_id)

    assert task["status"] == "completed"
    assert task["agents"]["a"]["turns"] == 5
    attempts = await made.pool.fetch("select hold_id, attempt, state, tokens from attempts")
    charged = {f"{row['hold_id']}-{row['attempt']}": (row["state"], row["tokens"]) for row in attempts}
    served = {one.arrival.request_id: one.charged_tokens for one in made.provider.served()}
    assert served.keys() <= charged.keys(), "no request without an attempt"
    for request_id, (state, tokens) in charged.items():
        used = served.get(request_id, 0)
        # A call that takes too long or misses its heartbeats is given up. Nobody reads its reply: the hold is charged.
        assert (state, tokens) == ("reported", used) or (state == "presumed" and tokens >= used), request_id
    assert await made.spent(f"task:{task_id}") == sum(tokens for _, tokens in charged.values())
    await made.audited()


async def finished(made: World, task_id: str) -> dict[str, Any]:
    """Waits for the end of a task, however long it takes; returns what its page shows."""
    while True:
        try:
            return await made.end(task_id)
        except TimeoutError:
            continue
