"""Connection errors: what counts as unavailable, what is retried, and what is the caller's mistake."""

import asyncio
import json
import os
import signal
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg
import pytest

from purser.budget.errors import LedgerUnavailable
from purser.budget.postgres.connections import pools
from purser.budget.postgres.connections.pools import Pool, connected, create_pool, reaching_ledger, retrying
from purser.budget.postgres.ledger.holds import Holds
from tests.support.ledger import TENANT, Books, request


async def test_a_server_that_is_not_there_is_an_unavailable_ledger(tmp_path: Path) -> None:
    with pytest.raises(LedgerUnavailable, match="so nothing is admitted; check Postgres and send the same request"):
        await create_pool(f"postgresql://postgres@/postgres?host={tmp_path}")


@pytest.mark.parametrize(
    ("login", "error"),
    [
        ("nobody:@/postgres", "InvalidAuthorizationSpecification"),
        ("postgres:@/not_there", "InvalidCatalogName"),
        ("postgres:@/template0", "ObjectNotInPrerequisiteState"),  # allows no connections
    ],
)
async def test_a_connection_that_is_refused_is_an_unavailable_ledger_and_the_next_one_works(
    pool: Pool, dsn: str, login: str, error: str
) -> None:
    refused = dsn.replace(f"postgres:@{urlsplit(dsn).path}", login)
    assert refused != dsn
    pool.set_connect_args(refused)
    await pool.expire_connections()
    with pytest.raises(LedgerUnavailable, match=error):
        await _one(pool)
    pool.set_connect_args(dsn)
    assert await _one(pool) == 1


async def test_a_pool_that_is_closed_is_an_unavailable_ledger(dsn: str) -> None:
    pool = await create_pool(dsn)
    books = Books.on(pool)
    await pool.close()
    for step in (books.ask("k", 1), books.ledger.release(TENANT, key="k"), books.ledger.sweep(), books.check()):
        with pytest.raises(LedgerUnavailable):
            await step


async def test_a_connection_that_is_cut_off_is_an_unavailable_ledger_and_the_next_call_works(books: Books) -> None:
    async with books.pool.acquire() as own, own.transaction():
        await own.execute("lock table holds")
        asked = asyncio.ensure_future(books.ask("k", 100))
        waiting = "select pid from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"
        while (pid := await books.pool.fetchval(waiting)) is None:
            await asyncio.sleep(0.01)
        await books.pool.execute("select pg_terminate_backend($1)", pid)
        with pytest.raises(LedgerUnavailable):
            await asked
    assert await books.balance() == {}
    await books.hold("k", 100)
    assert await books.balance() == {"held": 100}


async def test_a_lock_that_is_not_given_in_time_is_an_unavailable_ledger(books: Books, dsn: str) -> None:
    await books.hold("k", 1)
    async with await create_pool(dsn, lock_timeout_ms=50) as hasty:
        async with books.pool.acquire() as own, own.transaction():
            await own.execute("select 1 from balances for update")
            with pytest.raises(LedgerUnavailable, match="LockNotAvailable"):
                await Books.on(hasty).ask("next", 1)
        assert (await Books.on(hasty).ask("next", 1)).hold_id


async def test_a_caller_that_gives_up_on_a_server_that_hangs_does_not_wait_for_it(emptied_dsn: str) -> None:
    """A statement that is given up is cancelled by its server, which may be the one that does not answer."""
    async with await create_pool(emptied_dsn, size=1, timeout_s=600) as hung:
        server = await hung.fetchval("select pg_backend_pid()")
        os.kill(server, signal.SIGSTOP)
        try:
            asked = asyncio.ensure_future(_one(hung))
            await asyncio.sleep(0.1)
            asked.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asyncio.wait_for(asked, timeout=60)
        finally:
            os.kill(server, signal.SIGCONT)
        assert await _one(hung) == 1, "on another connection"


async def _one(pool: Pool) -> int:
    async with connected(pool, None) as connection:
        return int(await connection.fetchval("select 1"))


@pytest.mark.parametrize("mark", ["", "&pgbouncer=true"])
async def test_a_process_that_vanishes_within_a_transaction_gives_its_locks_back(
    dsn: str, mark: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pools, "IDLE_S", 1)
    async with await create_pool(dsn) as pool, await create_pool(dsn + mark) as vanishing:
        books = Books.on(pool)
        await books.hold("k", 1)

        async def vanish_and_return() -> None:
            async with connected(vanishing, None) as own, own.transaction():
                await own.execute("select 1 from balances for update")
                await books.hold("next", 1)  # waits for the lock
                await own.execute("select 1")

        with pytest.raises(LedgerUnavailable):
            await vanish_and_return()
        assert await books.balance() == {"held": 2}


async def test_a_single_statement_through_a_pooler_needs_no_transaction_for_the_limit_of_idle_ones(dsn: str) -> None:
    shown = "select current_setting('idle_in_transaction_session_timeout')"
    async with await create_pool(f"{dsn}&pgbouncer=true") as pool, pool.acquire() as own:
        assert await own.fetchval(shown) == "0"
        async with own.transaction():
            assert await own.fetchval(shown) == f"{pools.IDLE_S}s"


async def test_a_primary_that_has_become_read_only_is_an_unavailable_ledger_and_its_connections_are_left(
    dsn: str, books: Books
) -> None:
    async with await create_pool(dsn, size=1) as pool:
        before = await pool.fetchval("select pg_backend_pid()")
        await pool.execute("set default_transaction_read_only = on")
        with pytest.raises(LedgerUnavailable, match="ReadOnlySQLTransaction"):
            await Books.on(pool).ask("k", 1)
        assert await pool.fetchval("select pg_backend_pid()") != before
        assert (await Books.on(pool).ask("k", 1)).hold_id


async def test_a_pool_without_a_free_connection_is_an_unavailable_ledger_in_time(
    dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pools, "ACQUIRE_S", 0.1)
    async with await create_pool(dsn, size=1) as pool:
        async with connected(pool, None):
            with pytest.raises(LedgerUnavailable, match="TimeoutError"):
                async with connected(pool, None):
                    pass
            async with asyncio.timeout(5):
                with pytest.raises(LedgerUnavailable, match="TimeoutError"):
                    await Holds(pool).get(TENANT, "1")
        async with connected(pool, None) as own:
            assert await own.fetchval("select 1") == 1


async def test_an_argument_of_a_wrong_type_is_no_outage(books: Books) -> None:
    """Else a workflow would try it again for ever."""
    with pytest.raises(asyncpg.DataError, match="expected str, got int"):
        await books.ledger.hold(5, request("k", 1))  # type: ignore[arg-type]


async def test_a_transaction_that_was_picked_to_break_a_deadlock_runs_again() -> None:
    calls = 0

    async def picked_twice() -> str:
        nonlocal calls
        calls += 1
        if calls < 3:
            raise asyncpg.DeadlockDetectedError
        return "done"

    assert await retrying(picked_twice) == "done"


async def test_a_transaction_that_is_picked_every_time_is_an_unavailable_ledger() -> None:
    async def picked() -> None:
        raise asyncpg.SerializationError

    with pytest.raises(LedgerUnavailable, match="gave up after 4 deadlocks"):
        await retrying(picked)


async def test_two_transactions_that_lock_each_other_out_both_end(books: Books, pool: Pool) -> None:
    """What a caller's own transaction may do: two holds in the order of its choice."""
    await books.hold("a", 1, 0, "session:a")
    await books.hold("b", 1, 0, "session:b")
    met = asyncio.Barrier(2)

    async def transaction(first: str, then: str) -> None:
        waited = False

        async def step() -> None:
            nonlocal waited
            async with pool.acquire() as own, own.transaction():
                await books.ledger.hold(TENANT, request(f"{first}1", 1, 0, f"session:{first}"), own)
                if not waited:
                    waited = True
                    await met.wait()
                await books.ledger.hold(TENANT, request(f"{first}2", 1, 0, f"session:{then}"), own)

        await retrying(step)

    await asyncio.gather(transaction("a", "b"), transaction("b", "a"))
    assert await books.balance("session:a") == await books.balance("session:b") == {"held": 3}


@pytest.mark.parametrize(
    "error",
    [
        OSError(),
        TimeoutError(),
        asyncpg.TooManyConnectionsError(),
        asyncpg.AdminShutdownError(),
        asyncpg.PostgresIOError(),
        asyncpg.InternalClientError("cannot switch to state 12"),  # just terminated, before its end is noticed
    ],
)
def test_every_way_of_being_away_has_one_name(error: Exception) -> None:
    with pytest.raises(LedgerUnavailable) as caught, reaching_ledger():
        raise error
    assert type(error).__name__ in str(caught.value)


async def test_json_of_any_depth_size_and_order_is_read_as_it_was_written(dsn: str) -> None:
    deep: object = "bottom"
    for _ in range(400):
        deep = [deep]
    values = ({"b": 1, "a": [2**70, -1.5e-7, 'é\\ "', None, True]}, deep)
    async with await create_pool(dsn) as pool:
        for value in values:
            assert json.dumps(await pool.fetchval("select $1::json", value)) == json.dumps(value)
