"""A connection is reused without a reset unless something failed on it."""

import asyncio
from collections.abc import AsyncIterator

import asyncpg
import pytest

from purser.budget.postgres.connections.pools import Pool, create_pool

MARK = "select set_config('purser.mark', 'here', false)"
READ = "select current_setting('purser.mark', true)"


@pytest.fixture
async def one(dsn: str) -> AsyncIterator[Pool]:
    """A pool of one connection: every use is of the same session."""
    async with await create_pool(dsn, size=1) as pool:
        await pool.execute(MARK)
        yield pool


async def test_nothing_is_asked_of_postgres_between_two_uses(one: Pool) -> None:
    assert await one.fetchval(READ) == "here"


@pytest.mark.parametrize(
    ("query", "argument", "error"),
    [
        ("select 1 / $1::int", 0, asyncpg.DivisionByZeroError),
        ("select $1::text || 'never prepared before'", 5, asyncpg.DataError),
    ],
)
async def test_after_a_failure_the_session_is_new(
    one: Pool, query: str, argument: object, error: type[Exception]
) -> None:
    with pytest.raises(error):
        await one.fetchval(query, argument)
    assert not await one.fetchval(READ)
    await one.execute(MARK)
    assert await one.fetchval(READ) == "here", "once"


async def test_no_transaction_stays_open_behind_an_argument_that_cannot_be_sent(one: Pool) -> None:
    """`now()` would not advance, and later holds would fall into past windows."""
    with pytest.raises(asyncpg.DataError):
        await one.fetchval("select $1::text || 'prepared, and never executed'", 5)
    await asyncio.sleep(0.3)
    assert await one.fetchval("select clock_timestamp() - now() < interval '0.25 s'")
    async with one.acquire() as connection, connection.transaction(isolation="repeatable_read"):
        assert await connection.fetchval("select 1") == 1


async def test_a_transaction_that_was_left_is_rolled_back(one: Pool) -> None:
    async with one.acquire() as connection:
        await connection.execute("create table left_behind (x int)")
        left = connection.transaction()
        await left.start()
        await connection.execute("insert into left_behind values (1)")
    assert await one.fetchval("select count(*) from left_behind") == 0
    await one.execute("drop table left_behind")


async def test_a_use_that_was_cancelled_leaves_nothing(one: Pool) -> None:
    sleeping = asyncio.create_task(one.fetchval("select pg_sleep(30)"))
    await asyncio.sleep(0.2)
    sleeping.cancel()
    with pytest.raises(asyncio.CancelledError):
        await sleeping
    assert await one.fetchval("select 1") == 1
    assert not await one.fetchval(READ)
