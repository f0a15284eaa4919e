"""A worker that is killed at every point of a turn: the task continues, and the ledger is right."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from temporalio.client import Client

from purser.compose.demo.provider import Match
from tests.support.runs.proof import some
from tests.support.servers.forked import Forked, Forks
from tests.support.servers.postgres_proxy import Proxy, Trap, When, postgres_proxy
from tests.support.servers.purser import Started
from tests.support.world import World, eventually, world

pytestmark = pytest.mark.stack
LEASE_S, GRACE_S = 4, 1
LONG_LEASE_S = 60
ENDS_WITHIN_S = 150.0


@dataclass
class Crash:
    """A world whose worker is a separate process, and the kill of that process."""

    world: World
    proxy: Proxy
    purser: Forked
    worker: Started | None = None

    async def start_worker(self, dsn: str | None = None, lease_s: int = LEASE_S) -> None:
        """Starts a worker that connects to Postgres through the proxy, or directly with `dsn`."""
        purser = self.purser.having(dsn=dsn or self.proxy.dsn, lease_s=str(lease_s))
        self.worker = await asyncio.to_thread(purser.start, "worker")

    async def kill(self) -> None:
        """Kills the worker without a chance to clean up."""
        assert self.worker is not None
        await asyncio.to_thread(self.worker.kill)

    async def strike(self, statement: str, when: When, *, commit: bool = False) -> None:
        """Kills the worker at a statement; returns once it is dead."""
        await asyncio.wait_for(self.proxy.set(Trap(statement, when, self.kill, commit)).sprung.wait(), ENDS_WITHIN_S)


async def before_the_hold(crash: Crash) -> None:
    await crash.strike("ledger_hold(", When.BEFORE)


async def after_the_hold(crash: Crash) -> None:
    await crash.strike("ledger_hold(", When.AFTER)  # a transaction of its own


async def after_the_attempt_started(crash: Crash) -> None:
    await crash.strike("ledger_start_attempt(", When.AFTER)


async def after_the_request_was_sent(crash: Crash) -> None:
    await asyncio.wait_for(crash.world.provider.control.wait_held(), ENDS_WITHIN_S)
    await crash.kill()
    crash.world.provider.control.continue_held()


async def after_the_reply(crash: Crash) -> None:
    await crash.strike("ledger_settle(", When.BEFORE)


async def after_the_settlement(crash: Crash) -> None:
    await crash.strike("ledger_settle(", When.AFTER, commit=True)


POINTS = (
    before_the_hold,
    after_the_hold,
    after_the_attempt_started,
    after_the_request_was_sent,
    after_the_reply,
    after_the_settlement,
)


@pytest.fixture
async def crash(
    dsn: str, temporal_client: Client, temporal_address: str, task_queue: str, tmp_path: Path, forks: Forks
) -> AsyncIterator[Crash]:
    """A world, a proxy in front of its Postgres, and the command that starts workers."""
    async with world(dsn, temporal_client, task_queue) as made, postgres_proxy(dsn) as proxy:
        settings = {"temporal_address": temporal_address, "task_queue": task_queue, "grace_s": str(GRACE_S)}
        purser = forks.purser(tmp_path, **settings, sweep_every_s="1", allowed_api_bases=made.provider.address)
        crash = Crash(made, proxy, purser)
        try:
            yield crash
        finally:
            if crash.worker is not None and crash.worker.process.poll() is None:
                await crash.kill()


@pytest.mark.proof
@pytest.mark.parametrize("point", some(POINTS, 2))
async def test_a_task_survives_a_worker_that_is_killed(
    crash: Crash, dsn: str, point: Callable[[Crash], Coroutine[Any, Any, None]]
) -> None:
    if point is after_the_request_was_sent:
        crash.world.provider.control.hold(Match())
    async with never_two_open_holds_of_a_call(crash.world):
        striking = asyncio.create_task(point(crash))
        await crash.start_worker()
        task_id = await crash.world.submit(crash.world.agent("a", "First."), crash.world.agent("b", depends_on=["a"]))
        await striking
        await crash.start_worker(dsn)
        async with asyncio.timeout(ENDS_WITHIN_S):
            task = await finished(crash.world, task_id)
    assert task["status"] == "completed"
    await the_books_are_right(crash.world)


async def test_a_hold_that_outlives_its_worker_charges_the_lost_request_as_presumed(crash: Crash, dsn: str) -> None:
    crash.world.provider.control.hold(Match())
    await crash.start_worker(lease_s=LONG_LEASE_S)
    task_id = await crash.world.submit(crash.world.agent("a", "First."))
    await after_the_request_was_sent(crash)
    await crash.start_worker(dsn, lease_s=LONG_LEASE_S)
    async with asyncio.timeout(ENDS_WITHIN_S):
        task = await finished(crash.world, task_id)
    assert task["status"] == "completed"
    attempts = await crash.world.pool.fetch(
        "select attempt, a.state, a.tokens, asked_tokens from attempts a join holds using (tenant, hold_id)"
        " order by attempt"
    )
    assert [(row["attempt"], row["state"]) for row in attempts] == [(1, "presumed"), (2, "reported")]
    assert attempts[0]["tokens"] == attempts[0]["asked_tokens"], "the lost request is charged at its estimate"
    await the_books_are_right(crash.world)


async def finished(world: World, task_id: str) -> dict[str, object]:
    """Waits for the end of a task, however long it takes; returns what its page shows."""
    while True:
        with suppress(TimeoutError):
            return await world.end(task_id)


@asynccontextmanager
async def never_two_open_holds_of_a_call(world: World) -> AsyncIterator[None]:
    """Polls all the time that a call never has two open holds."""
    most: Counter[int] = Counter()

    async def look() -> None:
        while True:
            rows = await world.pool.fetch(
                "select count(*) from calls c join holds h on h.tenant = c.tenant and h.key = c.key"
                " where h.state = 'held' group by c.task_id, c.agent_id, c.turn"
            )
            most.update(row[0] for row in rows)
            await asyncio.sleep(0.02)

    looking = asyncio.create_task(look())
    try:
        yield
    finally:
        looking.cancel()
    assert set(most) == {1}, most


async def the_books_are_right(world: World) -> None:
    """Checks that charges equal what the provider served plus what is presumed of unreported requests."""

    async def nothing_is_held() -> bool:
        return await world.open_holds() == 0

    await eventually(nothing_is_held, within_s=LONG_LEASE_S + GRACE_S)
    attempts = {
        f"{row['hold_id']}-{row['attempt']}": row
        for row in await world.pool.fetch("select hold_id, attempt, state, tokens from attempts")
    }
    served = {one.arrival.request_id: one for one in world.provider.served()}
    assert len(served) == len(world.provider.served()), "every request has its own id"
    assert set(served) <= set(attempts), "no model call without an attempt under a hold"
    for name, attempt in attempts.items():
        if attempt["state"] == "reported":
            assert attempt["tokens"] == served[name].charged_tokens
        else:
            assert attempt["state"] == "presumed"
            assert attempt["tokens"] >= (served[name].charged_tokens if name in served else 0)
    charged = sum(attempt["tokens"] for attempt in attempts.values())
    spent = await world.pool.fetchval(
        "select spent_tokens from balances b join scopes s using (tenant, scope_id) where s.kind = 'task'"
    )
    assert spent == charged
    await world.audited()
