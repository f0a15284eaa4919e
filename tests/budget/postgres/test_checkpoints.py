"""Checkpoints: what is erased or rewritten after its range was closed shows, however consistent the rest is."""

import asyncio

import asyncpg
import pytest

from budget.postgres.audit import audit
from budget.postgres.checkpoints import Checkpoints
from budget.postgres.connection import Pool
from tests.support.ledger import Books
from tests.support.ledger import request as _request

ERASED = """
create temporary table gone as select hold_id, tokens from attempts
    where hold_id = (select hold_id from holds where key = 'spent');
delete from entries where hold_id in (select hold_id from gone);
delete from attempts where hold_id in (select hold_id from gone);
delete from holds where hold_id in (select hold_id from gone);
update balances b set spent_tokens = spent_tokens - 100, seq = seq - 2;
update entries e set seq = seq - 2, spent_tokens = spent_tokens - 100;
"""


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
    async with asyncio.timeout(30):
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
    assert (difference["entries"], difference["entries_now"]) == (3, 1)
    last = await closed.fetchval("select max(entry_id) from entries")
    assert difference["first_entry"] <= last <= difference["last_entry"]


@pytest.mark.parametrize(
    "sql",
    [
        "update entries set at = at - interval '1 day'",
        "update entries set ref = 'somebody'",
        "update checkpoints set digest = '\\x00'",
        "update checkpoints set previous = '\\x00'",
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


async def test_a_range_waits_for_every_transaction_that_may_have_taken_one_of_its_numbers(pool: Pool) -> None:
    books, made = Books.on(pool), Checkpoints(pool)
    async with pool.acquire() as slow, slow.transaction():
        await books.ledger.hold("acme", _request("slow", 50, 0, "session:slow"), connection=slow)
        await books.hold("quick", 50, 0, "session:quick")
        assert await made.make() == 0
        assert await made.make() == 0, "a lower number may still be committed"
    await close(pool)
    assert (await audit(pool)).ok


async def test_checkpoints_are_never_changed(closed: Pool) -> None:
    for sql in ("update checkpoints set entries = 0", "delete from checkpoints", "truncate checkpoints"):
        with pytest.raises(asyncpg.RaiseError, match="append-only"):
            await closed.execute(sql)
