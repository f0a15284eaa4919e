"""Every operation finds its rows by index, however many there are, and keeps its plans."""

import re
from datetime import timedelta
from importlib.resources import files

from purser.budget.gate import Amount
from purser.budget.postgres.connections.pools import Pool
from purser.budget.postgres.ledger.batches import Ask, Settle, hold_together, settle_together
from purser.budget.postgres.ledger.holds import Holds
from purser.budget.scopes import Scope
from tests.support.ledger import TENANT, Books, report, request
from tests.support.rows_read import rows_read

ROWS = 8_000
# Filled without the ledger's verbs: what counts here is how many rows there are.
FILL = f"""
alter table policies disable trigger emit_policy;
insert into scopes (tenant, kind, id) select 'acme', 'session', 's' || n from generate_series(1, {ROWS}) n;
insert into balances (tenant, scope_id, window_start, spent_tokens, seq, updated_at)
    select tenant, scope_id, '-infinity', 100, 1, now() from scopes;
insert into policies (tenant, scope_id, limit_tokens, mode, updated_by, updated_at)
    select tenant, scope_id, 1000, 'hard', 'test', now() from scopes;
insert into holds (tenant, key, digest, scope_ids, window_starts, state, views, expires_at, created_at, ended_at)
    select 'acme', 'old' || scope_id, '', array[scope_id], '{{-infinity}}', 'settled', '[]',
           now() - interval '1 day', now(), now() from scopes;
insert into attempts (tenant, hold_id, attempt, state, started_at)
    select tenant, hold_id, 1, 'reported', now() from holds;
insert into journal (tenant, at, kind, hold_id, scope_ids, window_starts, seqs)
    select tenant, now(), 'hold', hold_id, scope_ids, '{{-infinity}}', '{{1}}' from holds;
insert into postings (tenant, scope_id, window_start, first_seq, last_seq, first_number, last_number, at, late, mode,
                      spent_tokens, held_tokens, granted_tokens, overrun_tokens,
                      spent_nano, held_nano, granted_nano, overrun_nano)
    select tenant, scope_ids[1], '-infinity', 1, 1, number, number, at, false, 'hard', 0, 0, 0, 0, 0, 0, 0, 0
    from journal;
insert into grants (tenant, scope_id, window_start, tokens, nano, until, granted_by, created_at, ended_at)
    select tenant, scope_id, '-infinity', 1, 0, till, 'test', now(), ended from scopes,
        (values (now(), now()), (now() + interval '1 year', null)) of_each (till, ended);
insert into waiters (tenant, hold_id, scope_id, since, last_asked)
    select tenant, hold_id, scope_ids[1], now(), now() from holds;
insert into events (at, tenant, kind, scope, window_start, threshold)
    select now(), 'acme', 'threshold', 'session:s' || scope_id, '-infinity', 0.5 from scopes;
alter table policies enable trigger emit_policy;
"""
TABLES = ("scopes", "balances", "policies", "holds", "attempts", "journal", "postings", "grants", "waiters", "events")
FEW = 1_500
"""Rows of a table that all verbs together may read; to look through it once is several times as many."""
# A sweep reads every waiter, of which there are few.
MOST = {"waiters": 2 * ROWS}


async def test_no_verb_reads_more_than_a_few_rows_of_a_large_table(counting_pool: Pool) -> None:
    # Statistics of the day when each tenant had one row.
    await counting_pool.execute(
        "insert into scopes (tenant, kind, id) select 't' || n, 'session', 's' from generate_series(1, 9) n"
    )
    await counting_pool.execute("analyze")
    await counting_pool.execute("delete from scopes")
    await counting_pool.execute(FILL)
    await counting_pool.execute("analyze")
    # What autovacuum would do at a moment of its own, and count as rows read.
    await counting_pool.execute(
        "select brin_summarize_new_values('journal_at'), brin_summarize_new_values('postings_in_order')"
    )
    books = Books.on(counting_pool)
    before = await rows_read(counting_pool, *TABLES)
    await every_verb(books)
    after = await rows_read(counting_pool, *TABLES)
    read = {table: after[table] - before[table] for table in after}
    assert {table: rows for table, rows in read.items() if rows > MOST.get(table, FEW)} == {}


async def test_a_budget_is_read_without_what_was_posted_to_it(counting_pool: Pool) -> None:
    books = Books.on(counting_pool)
    await books.budget("session:s1", limit_tokens=1_000, mode="hard")
    for number in range(100):
        await books.spend(f"k{number}", 1)
    before = await rows_read(counting_pool, *TABLES)
    assert (await books.policies.budget(TENANT, Scope.parse("session:s1"))).spent.tokens == 100
    after = await rows_read(counting_pool, *TABLES)
    assert {table: after[table] - before[table] for table in ("journal", "postings")} == {"journal": 0, "postings": 0}


async def test_a_budget_is_read_without_those_of_other_scopes(counting_pool: Pool) -> None:
    books = Books.on(counting_pool)
    for number in range(300):
        await books.spend(f"k{number}", 1, 0, f"session:s{number}")
    await counting_pool.execute("analyze")
    before = await rows_read(counting_pool, *TABLES)
    assert (await books.policies.budget(TENANT, Scope.parse("session:s1"))).spent.tokens == 1
    after = await rows_read(counting_pool, *TABLES)
    assert after["balances"] - before["balances"] == 1


async def test_plans_that_were_made_while_tables_were_empty_read_the_rows_of_a_call_alone(counting_pool: Pool) -> None:
    books = Books.on(counting_pool)
    # Statistics that come meanwhile, where the machine is slow, would lead to other plans.
    for table in TABLES:
        await counting_pool.execute(f"alter table {table} set (autovacuum_enabled = false)")
    await calls(books, "first", 1)
    # On balances of their own, of which a plan that looks through them all reads each.
    holds = [await books.hold(f"open{number}", 1, 0, f"session:s{number}") for number in range(300)]
    for number in range(100):
        await books.ledger.release(TENANT, hold_id=holds[number])
    before = await rows_read(counting_pool, *TABLES)
    await calls(books, "last", 2)
    after = await rows_read(counting_pool, *TABLES)
    assert {table: rows for table in after if (rows := after[table] - before[table]) > 50} == {}


async def calls(books: Books, key: str, number: int) -> None:
    """Calls alone, and a batch of them."""
    await books.spend(f"{key}-settled", 1)
    hold_id = await books.hold(f"{key}-released", 1)
    await books.ledger.start_attempt(TENANT, hold_id, 1)
    await books.ledger.extend(TENANT, hold_id, Amount(1))
    await books.ledger.release(TENANT, hold_id=hold_id)
    asks = [Ask(TENANT, request(f"{key}{n}", 1)) for n in range(number)]
    answers = await hold_together(books.pool, books.settings, None, asks)
    settles = [Settle(TENANT, int(answer.hold_id or 0), 1, report(1)) for answer in answers if answer]
    assert len(settles) == number
    assert None not in await settle_together(books.pool, books.settings, None, settles)


async def test_calls_and_reads_of_budgets_are_not_planned_anew_each_time(pool: Pool) -> None:
    ledger = files("purser.budget.postgres").joinpath("ledger")
    statements = "".join(ledger.joinpath(name).read_text("utf-8") for name in ("ledger.sql", "policies.sql"))
    called = set(re.findall(r"\b(ledger_(?:hold|start|settle|extend|release|budgets|set_policies)\w*)\(", statements))
    assert "ledger_budgets" in called
    assert len(called) > 10
    planned_anew = """
        select proname from pg_proc p join pg_language l on l.oid = p.prolang
        where lanname = 'plpgsql' and proname = any($1)
            and (proconfig @> '{plan_cache_mode=force_generic_plan}') is not true
    """
    assert await pool.fetch(planned_anew, list(called)) == []


async def every_verb(books: Books) -> None:
    # Prepared statements settle on a plan after five executions.
    for turn in range(7):
        path = (f"session:s{50 + turn}", f"task:new{turn}")
        hold_id = await books.hold(f"a{turn}", 100, 0, *path)
        assert (await books.ask(f"a{turn}", 100, 0, *path)).repeated
        for _ in range(2):
            await books.ask(f"waits{turn}", 850, 0, *path)
        await books.ledger.start_attempt(TENANT, hold_id, 1)
        await books.ledger.start_attempt(TENANT, hold_id, 2)
        await books.ledger.extend(TENANT, hold_id, Amount(10))
        await books.settle(hold_id, 90, attempt=2)
        await books.settle(hold_id, 95, attempt=1)
        await books.ledger.release(TENANT, key=f"waits{turn}")
        assert await Holds(books.pool).ended_tries(TENANT, "waits") == 1
        asks = [Ask(TENANT, request(f"b{turn}/{n}", 10, 0, path[n])) for n in range(2)]
        answers = await hold_together(books.pool, books.settings, None, asks)
        settles = [Settle(TENANT, int(answer.hold_id or 0), 1, report(5)) for answer in answers if answer]
        assert len(settles) == 2
        assert None not in await settle_together(books.pool, books.settings, None, settles)
        await books.budget(path[0], limit_tokens=900 - turn)
        await books.policies.budget(TENANT, Scope.parse(path[0]))
        if turn == 0:
            expiring = await books.hold("expires", 1, lease_ms=1)
            await books.grant(path[0], 5, until=await books.pool.fetchval("select now()"))
            books.at(await books.pool.fetchval("select now()") + timedelta(days=1))
            assert await books.ledger.sweep() == 2
            assert (await books.ledger.release(TENANT, hold_id=expiring)).state == "expired"
            books.at(None)
