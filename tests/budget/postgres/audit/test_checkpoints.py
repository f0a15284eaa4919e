"""Checkpoints reveal entries deleted or changed after their range was closed, however consistent the rest is."""

import asyncio
from collections.abc import Awaitable

import asyncpg
import pytest

from purser.budget.postgres.audit import checkpoints
from purser.budget.postgres.audit.audit import audit
from purser.budget.postgres.audit.checkpoints import Checkpoints
from purser.budget.postgres.connections.pools import Connection, Pool
from tests.support.ledger import Books, meanwhile
from tests.support.ledger import request as _request

ERASED = """
create temporary table gone as select hold_id, tokens from attempts
    where hold_id = (select hold_id from holds where key = 'spent');
delete from postings where last_number in (select number from journal where hold_id in (select hold_id from gone));
delete from journal where hold_id in (select hold_id from gone);
delete from attempts where hold_id in (select hold_id from gone);
delete from holds where hold_id in (select hold_id from gone);
update balances b set spent_tokens = spent_tokens - 100, seq = seq - 2;
update postings set first_seq = first_seq - 2, last_seq = last_seq - 2, spent_tokens = spent_tokens - 100;
update journal set seqs = array[seqs[1] - 2];
"""
DIGEST = "select ledger_digest(0, 1000, $1)"
OTHER = {
    "bigint": "coalesce({}, 0) + 1",
    "integer": "coalesce({}, 0) + 1",
    "timestamp with time zone": "now()",
    "text": "'other'",
    "kind": "'correction'",
    "boolean": "not {}",
    "ARRAY": "array_append(coalesce({}, '{{}}'), null)",
    "number": "default",
    "last_seq": "last_seq + 1000",
}
"""Another value of a column, by its type or its name."""


@pytest.fixture
async def closed(pool: Pool) -> Pool:
    """A ledger with two holds, whose entries are closed."""
    books = Books.on(pool)
    await books.spend("spent", 100, 0, "session:s1")
    await books.hold("open", 50, 0, "session:s1")
    await close(pool)
    return pool


async def close(pool: Pool) -> None:
    """Makes checkpoints until one closes something: transactions of other databases count too, and end soon."""
    while not await Checkpoints(pool).make():
        await asyncio.sleep(0.02)


async def tampered(pool: Pool, sql: str) -> set[str]:
    async with pool.acquire() as own, own.transaction():
        await own.execute("set local session_replication_role = replica")
        await own.execute(sql)
    return {str(difference["check"]) for difference in (await audit(pool)).differences}


async def test_a_whole_hold_that_was_erased_everywhere_is_named_with_its_range(closed: Pool) -> None:
    assert await tampered(closed, ERASED) == {"checkpoints"}
    [difference] = (await audit(closed)).differences
    assert (difference["events"], difference["events_now"]) == (3, 1)
    last = await closed.fetchval("select max(number) from journal")
    assert difference["first_number"] <= last <= difference["last_number"]


@pytest.mark.parametrize(
    "sql",
    [
        "update journal set at = at - interval '1 day'",
        "update journal set ref = 'someone'",
        "update postings set at = at - interval '1 day'",
        "update checkpoints set digest = '\\x00'",
        "update checkpoints set previous = '\\x00'",
        "update checkpoints set previous = '\\x00', digest = ledger_digest(first_number, last_number, '\\x00')",
        "update checkpoints set events = events + 1",
        "update checkpoints set first_number = 0",  # a number that no event has
    ],
)
async def test_what_is_rewritten_in_a_closed_range_shows(closed: Pool, sql: str) -> None:
    assert "checkpoints" in await tampered(closed, sql)


async def test_a_checkpoint_that_was_taken_out_leaves_a_gap(closed: Pool) -> None:
    await Books.on(closed).hold("more", 5, 0, "session:s1")
    await close(closed)
    assert (await audit(closed)).ok
    assert await closed.fetchval("select count(*) from checkpoints") == 2
    first = "delete from checkpoints where checkpoint_id = (select min(checkpoint_id) from checkpoints)"
    assert "checkpoints" in await tampered(closed, first)


@pytest.mark.parametrize("table", ["journal", "postings"])
async def test_every_column_is_in_the_digest_and_so_is_what_came_before(closed: Pool, table: str) -> None:
    columns = await closed.fetch(
        "select column_name as name, data_type as type from information_schema.columns where table_name = $1", table
    )
    assert len(columns) > 19
    async with closed.acquire() as own, own.transaction():
        await own.execute("set local session_replication_role = replica")
        first = await own.fetchval(DIGEST, b"")
        assert await own.fetchval(DIGEST, b"x") != first
        for name, kind in columns:
            change = own.transaction()
            await change.start()
            await own.execute(f"update {table} set {name} = {OTHER.get(name) or OTHER[kind].format(name)}")
            assert await own.fetchval(DIGEST, b"") != first, name
            await change.rollback()


async def test_a_digest_is_the_same_whatever_the_session_has_set(closed: Pool) -> None:
    first = await closed.fetchval(DIGEST, b"")
    async with closed.acquire() as own, own.transaction():
        await own.execute("set local timezone = 'Asia/Tokyo'; set local datestyle = 'German'")
        assert await own.fetchval(DIGEST, b"") == first


async def test_a_long_backlog_is_closed_in_ranges_of_bounded_size_while_others_write(
    pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoints, "MAX_RANGE", 2)
    books, made = Books.on(pool), Checkpoints(pool)
    for number in range(6):
        await books.hold(f"h{number}", 5, 0, "session:s1")
    assert await made.make() == 0, "the first notes how far entries have come"
    async with pool.acquire() as slow, slow.transaction():
        await slow.fetchval("select pg_current_xact_id()")
        while not (closed := await made.make()):
            await asyncio.sleep(0.02)
    last = await pool.fetchval("select max(number) from journal")
    assert closed == last
    sizes = [row["size"] for row in await pool.fetch("select last_number - first_number + 1 as size from checkpoints")]
    assert (sum(sizes), max(sizes)) == (last, 2)


async def test_one_of_two_at_once_makes_checkpoints_and_neither_waits(pool: Pool) -> None:
    def first(connection: Connection) -> Awaitable[object]:
        return connection.fetchval("select ledger_checkpoint(2, null)")

    assert await meanwhile(pool, first, Checkpoints(pool).make) == 0


async def test_checkpoints_go_on_after_the_database_was_restored_into_a_cluster_with_fewer_transactions(
    closed: Pool,
) -> None:
    await Books.on(closed).hold("more", 5, 0, "session:s1")
    await closed.execute("update checkpoint_horizon set xid = '4000000000'")
    await close(closed)
    assert (await audit(closed)).ok


async def test_a_range_waits_for_every_transaction_that_may_have_taken_one_of_its_numbers(pool: Pool) -> None:
    books, made = Books.on(pool), Checkpoints(pool)
    async with pool.acquire() as slow, slow.transaction():
        await books.ledger.hold("acme", _request("slow", 50, 0, "session:slow"), connection=slow)
        await books.hold("quick", 50, 0, "session:quick")
        assert await made.make() == 0
        assert await made.make() == 0, "a lower number may still be committed"
    await close(pool)
    assert (await audit(pool)).ok


async def test_a_range_waits_for_a_transaction_that_began_later_and_took_a_lower_number(pool: Pool) -> None:
    books, made = Books.on(pool), Checkpoints(pool)
    async with pool.acquire() as slow, slow.transaction():
        async with pool.acquire() as older, older.transaction():
            await older.fetchval("select pg_current_xact_id()")
            await books.ledger.hold("acme", _request("slow", 50, 0, "session:slow"), connection=slow)
            await books.ledger.hold("acme", _request("older", 50, 0, "session:older"), connection=older)
        assert await made.make() == 0
        await books.hold("newer", 50, 0, "session:newer")
        assert await made.make() == 0, "the lower number may still be committed"
    await close(pool)
    assert (await audit(pool)).ok


async def test_checkpoints_are_never_changed(closed: Pool) -> None:
    for sql in ("update checkpoints set events = 0", "delete from checkpoints", "truncate checkpoints"):
        with pytest.raises(asyncpg.RaiseError, match="append-only"):
            await closed.execute(sql)
