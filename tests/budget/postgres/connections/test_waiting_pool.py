"""Pools of a Postgres that accepts no further connection: callers share those that there are."""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import asyncpg
import pytest

from purser.budget.errors import LedgerUnavailable
from purser.budget.postgres.connections import pools, waiting_pool
from purser.budget.postgres.connections.pools import Pool, connected, create_pool, fetchval
from purser.compose.stack.postgres import EmbeddedPostgres

SIZE = 6
SOON_S = 5.0
"""Seconds that are less than a caller waits for a connection."""


@dataclass
class Crowded:
    """A role that may open only so many connections."""

    admin: Pool
    role: str
    dsn: str

    async def limit(self, connections: int) -> None:
        """Sets how many it may open; -1: any number."""
        await self.admin.execute(f'alter role "{self.role}" connection limit {connections}')

    async def cut_off(self) -> None:
        """Ends all of its connections."""
        await self.admin.execute("select pg_terminate_backend(pid) from pg_stat_activity where usename = $1", self.role)


@pytest.fixture
async def crowded(pool: Pool, dsn: str) -> AsyncIterator[Crowded]:
    role = f"crowded_{await pool.fetchval('select current_database()')}"
    await pool.execute(f'create role "{role}" login')
    try:
        yield Crowded(pool, role, dsn.replace("://postgres:", f"://{role}:"))
    finally:
        await pool.execute(f'drop role "{role}"')


async def test_callers_share_the_connections_that_postgres_has_accepted(crowded: Crowded) -> None:
    await crowded.limit(2)
    async with await create_pool(crowded.dsn, size=SIZE) as pool:
        for statement in ("select 1", "select 1 from pg_sleep(0.02)"):
            answers = await asyncio.gather(*(fetchval(pool, statement) for _ in range(40)))
            assert answers == [1] * 40
        assert 1 <= pool.get_size() <= 2


async def test_a_caller_waits_for_a_connection_no_longer_than_the_limit(
    crowded: Crowded, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pools, "ACQUIRE_S", 0.3)
    async with await create_pool(crowded.dsn, size=SIZE) as pool:
        await crowded.limit(1)
        async with connected(pool, None):
            asked = await asyncio.gather(*(fetchval(pool, "select 1") for _ in range(12)), return_exceptions=True)
            assert {type(error) for error in asked} == {LedgerUnavailable}
        assert await fetchval(pool, "select 1") == 1


async def test_a_pool_without_any_connection_is_an_unavailable_ledger_at_once(crowded: Crowded) -> None:
    async with await create_pool(crowded.dsn, size=SIZE) as pool:
        await crowded.limit(0)
        await pool.expire_connections()
        async with asyncio.timeout(SOON_S):
            for _ in range(2 * SIZE):
                with pytest.raises(LedgerUnavailable, match="TooManyConnections"):
                    await fetchval(pool, "select 1")
        await crowded.limit(-1)
        await _all_together(pool)


async def test_a_pool_opens_its_other_connections_once_postgres_accepts_them(
    crowded: Crowded, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting_pool, "RECONNECT_S", 0.05)
    async with await create_pool(crowded.dsn, size=SIZE) as pool:
        await crowded.limit(1)
        async with connected(pool, None):
            waiting = asyncio.ensure_future(_all_together(pool, SIZE - 1))
            await asyncio.sleep(0.2)
            assert not waiting.done()
            await crowded.limit(-1)
            await waiting
        assert pool.get_size() == SIZE


async def test_a_caller_that_gives_up_while_it_waits_takes_no_place_with_it(crowded: Crowded) -> None:
    async with await create_pool(crowded.dsn, size=SIZE) as pool:
        await crowded.limit(1)
        async with connected(pool, None):
            waiting = [asyncio.ensure_future(fetchval(pool, "select 1")) for _ in range(3 * SIZE)]
            for task in waiting:
                await asyncio.sleep(0.002)  # some connect, some have been refused, some wait
                task.cancel()
            assert {str(error) for error in await asyncio.gather(*waiting, return_exceptions=True)} <= {"", "1"}
        await crowded.limit(-1)
        await _all_together(pool)


async def test_callers_that_wait_for_connections_that_are_cut_off_lose_none(crowded: Crowded) -> None:
    chance = random.Random(7)
    async with await create_pool(crowded.dsn, size=SIZE) as pool:

        async def ask() -> None:
            with suppress(LedgerUnavailable, TimeoutError):
                async with asyncio.timeout(chance.choice((0.01, 0.05, 1))):
                    await fetchval(pool, "select 1 from pg_sleep($1)", chance.random() / 50)

        for limit in (2, 0, 1, 3):
            await crowded.limit(limit)
            asked = [asyncio.ensure_future(ask()) for _ in range(60)]
            for _ in range(3):
                await asyncio.sleep(0.03)
                await crowded.cut_off()
            async with asyncio.timeout(SOON_S):
                await asyncio.gather(*asked)
        await crowded.limit(-1)
        await _all_together(pool)


@pytest.mark.stack
async def test_callers_that_wait_for_a_postgres_that_is_full_outlive_its_restart(tmp_path: Path) -> None:
    server = EmbeddedPostgres(tmp_path / "data", {"max_connections": "12"})
    dsn = await server.start()
    others = list[asyncpg.Connection]()
    try:
        async with await create_pool(dsn, size=SIZE) as pool:
            await _all_together(pool, 2)
            with suppress(asyncpg.TooManyConnectionsError):
                while True:
                    others.append(await asyncpg.connect(dsn))
            assert await asyncio.gather(*(fetchval(pool, "select 1") for _ in range(40))) == [1] * 40

            waiting = [asyncio.ensure_future(fetchval(pool, "select pg_sleep(60)")) for _ in range(40)]
            await asyncio.sleep(0.2)
            server.stop()
            async with asyncio.timeout(SOON_S):
                ended = await asyncio.gather(*waiting, return_exceptions=True)
            assert {type(error) for error in ended} == {LedgerUnavailable}
            assert await server.start() == dsn
            await _all_together(pool)
    finally:
        for connection in others:
            connection.terminate()
        server.stop()


async def _all_together(pool: Pool, callers: int = SIZE) -> None:
    """Uses that many connections at once."""
    met = asyncio.Barrier(callers)

    async def use() -> None:
        async with connected(pool, None) as own:
            await met.wait()
            assert await own.fetchval("select 1") == 1

    async with asyncio.timeout(SOON_S):
        await asyncio.gather(*(use() for _ in range(callers)))
