"""Retention deletes the oldest ranges of the ledger, and every balance can still be proven."""

import asyncio
import random
from collections import Counter
from datetime import timedelta

import asyncpg
import pytest

from purser.budget.errors import BudgetError
from purser.budget.holds import HoldState
from purser.budget.postgres.audit.audit import audit
from purser.budget.postgres.audit.retention import LEAST, LedgerRetention, Outcome
from purser.budget.postgres.connections.pools import Connection, Pool, create_pool
from purser.budget.postgres.ledger.batches import Ask, hold_together
from purser.budget.scopes import Scope
from tests.budget.postgres.audit.history import POLICIES, START, History, close_all, forget
from tests.support.databases import fresh_database
from tests.support.ledger import TENANT, Books, meanwhile, meet, request

SESSION = Scope.parse("session:s1")
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
LATER = START + LEAST + HOUR
"""When what happened at the start is old enough."""
NUMBERS = "select array_agg(number order by number) from journal"


@pytest.mark.proof
async def test_a_ledger_that_forgets_decides_as_one_that_does_not_and_its_audit_stays_clean(
    pool: Pool, postgres_server: str, template: str, seed: int
) -> None:
    dice, closed, outcomes = random.Random(seed), 0, Counter[Outcome]()
    async with fresh_database(postgres_server, template) as other, await create_pool(other) as copy:
        forgets, keeps = await History.begin(pool, seed), await History.begin(copy, seed)
        for _ in range(8):
            turns = dice.randint(30, 50)
            assert await forgets.go_on(turns) == await keeps.go_on(turns)
            await close_all(pool, dice.choice([1, 3, 7, 20]))
            await forgets.books.check()
            ranges, outcome = await forget(pool, forgets.now)
            closed += ranges
            outcomes[outcome] += 1
            await forgets.books.check()
            await assert_same_budgets(forgets, keeps)
        assert closed > 2, outcomes
        forgets.now = keeps.now = forgets.now + 100 * DAY
        assert await forgets.go_on(20) == await keeps.go_on(20)
        await assert_same_budgets(forgets, keeps)
        await forgets.books.check()
        await keeps.books.check()


async def assert_same_budgets(one: History, other: History) -> None:
    scopes = [Scope.parse(name) for name in (*POLICIES, "task:t1", "agent:t2/a")]
    for history in (one, other):
        history.books.at(history.now)
    assert await one.books.policies.budgets_of(TENANT, scopes) == await other.books.policies.budgets_of(TENANT, scopes)


async def test_a_range_may_end_within_a_batch(books: Books, pool: Pool) -> None:
    books.at(START)
    await books.budget("session:s1", limit_tokens=1_000, mode="hard")
    asks = [Ask(TENANT, request(f"k{number}", 10 + number)) for number in range(4)]
    made = await hold_together(pool, books.settings, START, asks)
    for number, one in enumerate(made):
        assert one is not None
        await books.settle(one.hold_id or "", 9 + number)
    await close_all(pool, 1)
    retention, closed = LedgerRetention(pool, LEAST, now=LATER), 0
    while (await retention.close()).outcome is Outcome.CLOSED:
        await books.check()
        closed += 1
    assert closed == 8
    assert await books.entries() == []
    assert await books.balance() == {"spent": 42}
    assert (await books.rows()).items() >= {"holds": 0, "attempts": 0, "balances": 1}.items()


# --- what stays ------------------------------------------------------------------------------------------------------


async def test_a_range_stays_while_one_of_its_events_is_young(books: Books, pool: Pool) -> None:
    books.at(START)
    await books.spend("old", 10)
    books.at(START + 2 * HOUR)
    await books.spend("young", 10)
    await close_all(pool, 100)
    assert await forget(pool, START + LEAST + 2 * HOUR) == (0, Outcome.NONE)
    assert await forget(pool, START + LEAST + 2 * HOUR + timedelta(microseconds=1)) == (1, Outcome.NONE)


async def test_what_no_checkpoint_has_closed_stays(books: Books, pool: Pool) -> None:
    books.at(START)
    await books.spend("old", 10)
    assert await forget(pool, LATER) == (0, Outcome.NONE)


async def test_no_less_than_62_days_are_kept(pool: Pool) -> None:
    with pytest.raises(asyncpg.RaiseError, match="62 days at least"):
        await forget(pool, LATER, LEAST - timedelta(microseconds=1))


async def test_an_open_hold_keeps_its_range_until_it_ends(books: Books, pool: Pool) -> None:
    books.at(START)
    await books.hold("open", 10, lease_ms=86_400_000)
    await close_all(pool, 100)
    assert await forget(pool, LATER) == (0, Outcome.HELD)
    books.at(LATER)
    await books.ledger.release(TENANT, key="open")
    assert await forget(pool, LATER) == (1, Outcome.NONE)
    assert await books.entries() == ["release"]


async def test_an_altered_range_is_never_deleted(books: Books, pool: Pool) -> None:
    books.at(START)
    await books.spend("old", 10)
    await close_all(pool, 100)
    await round_triggers(pool, "update journal set ref = 'somebody' where kind = 'settle'")
    before = await pool.fetchval(NUMBERS)
    assert await forget(pool, LATER) == (0, Outcome.ALTERED)
    assert await pool.fetchval(NUMBERS) == before
    await round_triggers(pool, "update journal set ref = null")


async def test_a_range_whose_postings_are_not_what_its_entries_moved_is_never_deleted(books: Books, pool: Pool) -> None:
    books.at(START)
    await books.spend("old", 10)
    await close_all(pool, 100)
    forge = "; update checkpoints set digest = ledger_digest(first_number, last_number, previous)"
    changed = "update postings set spent_tokens = spent_tokens {} where last_seq = 2"
    await round_triggers(pool, changed.format("+ 1") + forge)
    assert await forget(pool, LATER) == (0, Outcome.UNPROVEN)
    await round_triggers(pool, changed.format("- 1") + forge)
    assert await forget(pool, LATER) == (1, Outcome.NONE)


@pytest.mark.parametrize("table", ["journal", "postings"])
async def test_nobody_deletes_what_is_not_closed(books: Books, pool: Pool, table: str) -> None:
    books.at(START)
    await books.spend("old", 10)
    await close_all(pool, 100)
    books.at(START + DAY)
    await books.spend("young", 10)
    assert await forget(pool, LATER) == (1, Outcome.NONE)
    for sql in (f"delete from {table}", f"update {table} set at = now()", f"truncate {table}"):
        with pytest.raises(asyncpg.RaiseError, match="append-only"):
            await pool.execute(sql)


async def test_the_record_of_deleted_ranges_is_never_changed(pool: Pool) -> None:
    for sql in ("update closed_ranges set late = 0", "delete from closed_ranges", "truncate closed_ranges"):
        with pytest.raises(asyncpg.RaiseError, match="append-only"):
            await pool.execute(sql)


# --- holds -----------------------------------------------------------------------------------------------------------


async def twice_presumed(books: Books) -> str:
    """A hold whose first attempt was presumed in a range that is deleted, and whose second one later."""
    books.at(START)
    await books.budget("session:s1", limit_tokens=1_000, mode="hard", window="5h")
    hold = await books.hold("k", 100, lease_ms=86_400_000)
    await books.ledger.start_attempt(TENANT, hold, 1)
    await books.ledger.start_attempt(TENANT, hold, 2)
    await close_all(books.pool, 100)
    books.at(START + DAY)
    await books.ledger.release(TENANT, hold_id=hold)
    await close_all(books.pool, 100)
    assert await forget(books.pool, LATER) == (1, Outcome.NONE)
    books.at(LATER)
    return hold


async def test_a_hold_of_which_events_remain_repeats_its_answer(books: Books) -> None:
    books.at(START)
    await books.budget("session:s1", limit_tokens=1_000, mode="hard")
    await books.spend("before", 300)
    first = await books.ask("k", 100)
    await close_all(books.pool, 100)
    books.at(START + DAY)
    await books.settle(first.hold_id or "", 70)
    assert await forget(books.pool, LATER) == (1, Outcome.NONE)
    again = await books.ask("k", 100)
    assert (again.gate, again.hold_id, again.repeated) == (first.gate, first.hold_id, True)


async def test_a_late_report_of_a_deleted_charge_gives_no_room_in_a_rolling_window(books: Books) -> None:
    hold = await twice_presumed(books)
    assert (await books.settle(hold, 30)).late
    assert (await books.ask("more than all", 1_001, patient=False)).hold_id is None
    assert (await books.ask("all", 1_000)).hold_id


async def test_the_audit_knows_the_deleted_events_of_an_attempt(pool: Pool) -> None:
    await twice_presumed(Books.on(pool))
    await pool.execute("update carried_events set kind = 'correction' where kind = 'presumed'")
    assert {one["check"] for one in (await audit(pool)).differences} == {"attempts", "closings"}


async def test_a_key_whose_hold_is_gone_is_new(books: Books, pool: Pool) -> None:
    books.at(START)
    await books.spend("k", 100)
    await close_all(pool, 100)
    assert await forget(pool, LATER) == (1, Outcome.NONE)
    books.at(LATER)
    answer = await books.ask("k", 77)
    assert (answer.state, answer.repeated) == (HoldState.HELD, False)


async def test_an_ask_that_waits_for_the_deletion_of_its_hold_is_new(books: Books, pool: Pool) -> None:
    books.at(START)
    await books.spend("k", 100)
    await close_all(pool, 100)
    books.at(LATER)
    answer = await meet(
        pool,
        lambda own: own.execute("select from holds for update"),
        lambda: books.ask("k", 100),
        lambda own: own.fetchval("select ledger_close_range($1, $2)", LEAST, LATER),
    )
    assert (answer.state, answer.repeated) == (HoldState.HELD, False)
    assert await books.balance() == {"spent": 100, "held": 100}


async def test_a_report_to_a_hold_that_is_gone_is_refused(books: Books, pool: Pool) -> None:
    books.at(START)
    hold = await books.hold("k", 100)
    await books.settle(hold, 100)
    await close_all(pool, 100)
    assert await forget(pool, LATER) == (1, Outcome.NONE)
    with pytest.raises(BudgetError):
        await books.settle(hold, 90, attempt=2)


async def test_keys_under_which_nothing_was_held_go_too(books: Books, pool: Pool) -> None:
    books.at(START)
    await books.budget("session:s1", limit_tokens=100, mode="hard")
    await books.ask("refused", 101)
    await books.ledger.release(TENANT, key="closed")
    await books.hold("waits for this", 100, 0, lease_ms=1)
    await books.ask("waits", 100)
    await books.ledger.release(TENANT, key="waits for this")
    await books.spend("old", 10)
    await close_all(pool, 100)
    books.at(LATER)
    await books.ask("refused now", 101)
    assert await forget(pool, LATER) == (1, Outcome.NONE)
    keys = {row["key"] for row in await pool.fetch("select key from holds")}
    assert keys == {"waits", "refused now"}


async def test_what_nobody_asked_for_since_falls_out_of_a_rolling_window_first(books: Books, pool: Pool) -> None:
    books.at(START)
    await books.budget("session:s1", limit_tokens=100, mode="hard", window="31d")
    await books.spend("old", 100)
    await close_all(pool, 100)
    outcome = "select outcome from ledger_close_range($1, $2)"
    assert await pool.fetchval(outcome, LEAST, LATER) == "rolling"
    assert await forget(pool, LATER) == (1, Outcome.NONE)
    assert await books.entries() == ["rolled_off"]
    books.at(LATER)
    assert (await books.ask("all", 100)).hold_id


# --- several processes, and crashes ----------------------------------------------------------------------------------


async def test_of_several_at_once_each_range_is_deleted_once(books: Books, pool: Pool) -> None:
    books.at(START)
    for number in range(6):
        await books.spend(f"k{number}", 10)
    await close_all(pool, 2)
    retentions = [LedgerRetention(pool, LEAST, now=LATER) for _ in range(6)]
    closed = 0
    while await pool.fetchval("select exists (select from journal)"):
        found = Counter(one.outcome for one in await asyncio.gather(*(each.close() for each in retentions)))
        assert found.keys() <= {Outcome.CLOSED, Outcome.BUSY, Outcome.NONE}
        closed += found[Outcome.CLOSED]
    assert closed == await pool.fetchval("select count(*) from closed_ranges") == 6


async def test_a_second_process_does_not_wait(books: Books, pool: Pool) -> None:
    books.at(START)
    await books.spend("old", 10)
    await close_all(pool, 100)
    second = await meanwhile(pool, close_oldest, LedgerRetention(pool, LEAST, now=LATER).close)
    assert second.outcome is Outcome.BUSY


async def close_oldest(connection: Connection) -> None:
    await connection.execute("select ledger_close_range($1, $2)", LEAST, LATER)


async def test_a_crash_before_the_commit_loses_nothing(books: Books, pool: Pool) -> None:
    await twice_presumed(books)
    before = await everything(pool)
    async with pool.acquire() as own:
        await own.execute("begin")
        later = LATER + 2 * DAY
        assert await own.fetchval("select outcome from ledger_close_range($1, $2)", LEAST, later) == "closed"
        await pool.execute("select pg_terminate_backend($1, 10000)", own.get_server_pid())
        with pytest.raises((asyncpg.PostgresError, asyncpg.InterfaceError)):
            await own.execute("commit")
    assert await everything(pool) == before
    await books.check()
    assert (await forget(pool, LATER + 2 * DAY))[0] == 1


async def everything(pool: Pool) -> list[object]:
    tables = ("journal", "postings", "holds", "attempts", "closings", "carried_events", "closed_ranges")
    return [await pool.fetch(f"select * from {table}") for table in tables]


async def test_calls_go_on_while_a_range_is_deleted(books: Books, pool: Pool) -> None:
    books.at(START)
    await books.spend("old", 10)
    await close_all(pool, 100)
    books.at(LATER)
    await meanwhile(pool, close_oldest, lambda: books.spend("new", 10))
    assert await books.balance() == {"spent": 20}


async def test_closings_that_move_on_keep_the_audit_clean(books: Books, pool: Pool) -> None:
    books.at(START)
    await books.spend("first", 10)
    await books.spend("second", 10)
    await close_all(pool, 1)
    assert await forget(pool, LATER) == (4, Outcome.NONE)
    await books.check()


async def test_a_closing_that_was_changed_shows_after_it_has_moved_on(pool: Pool) -> None:
    books = Books.on(pool)
    books.at(START)
    await books.spend("first", 10)
    await books.spend("second", 10)
    await close_all(pool, 2)
    assert (await LedgerRetention(pool, LEAST, now=LATER).close()).outcome is Outcome.CLOSED
    await pool.execute("update closings set gone_tokens = 11")
    assert (await LedgerRetention(pool, LEAST, now=LATER).close()).outcome is Outcome.CLOSED
    await pool.execute("update closings set gone_tokens = gone_tokens - 1")
    assert {one["check"] for one in (await audit(pool)).differences} == {"closings"}


async def round_triggers(pool: Pool, sql: str) -> None:
    async with pool.acquire() as own, own.transaction():
        await own.execute("set local session_replication_role = replica")
        await own.execute(sql)
