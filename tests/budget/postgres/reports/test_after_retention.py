"""Reports after retention: what is left is counted as before, and what is gone is known where it has to be."""

from datetime import timedelta

import pytest

from purser.budget.errors import InvalidRequest
from purser.budget.postgres.audit.retention import LEAST, Outcome
from purser.budget.postgres.connections.pools import Pool
from purser.budget.postgres.reports.burn import Burn
from purser.budget.postgres.reports.entries import Entries
from purser.budget.postgres.reports.exporter import Exporter
from purser.budget.postgres.reports.reconciling import reconcile
from purser.budget.postgres.reports.scope_tree import ScopeTree
from purser.budget.postgres.reports.usage import UsageReports
from purser.budget.reports.provider_usage import ProviderUse, UsageFile
from purser.budget.reports.usage import By
from purser.budget.scopes import Kind, Scope
from tests.budget.postgres.audit.history import START, History, close_all, forget
from tests.support.budgets.replays import refused
from tests.support.ledger import TENANT, Books

DAY = timedelta(days=1)
LATER = START + LEAST + DAY / 2
"""When what happened at the start is old enough, and what happened a day later is not."""
S1 = Scope(Kind.SESSION, "s1")


async def test_counters_never_fall_and_no_balance_drifts(pool: Pool, seed: int) -> None:
    history = await History.begin(pool, seed)
    await history.go_on(200)
    exporter = Exporter(pool, history.books.settings, now=history.now)
    before = await exporter.figures(30)
    await close_all(pool, 5)
    closed, _ = await forget(pool, history.now + 30 * DAY)
    assert closed > 1
    after = await exporter.figures(30)
    for name in ("expired_holds", "presumed_attempts", "late_reports"):
        assert getattr(after, name) == getattr(before, name)
    assert await exporter.drift(30) == 0
    await pool.execute("update balances set held_tokens = held_tokens + 1")
    assert await exporter.drift(30) == await pool.fetchval("select count(*) from balances")


async def test_a_forecast_knows_when_the_first_entry_was(books: Books, pool: Pool) -> None:
    await books.budget("session:s1", limit_tokens=10_000)
    books.at(START)
    await books.spend("first", 100)
    await close_all(pool, 100)
    books.at(LATER - timedelta(minutes=30))
    await books.spend("recent", 100)
    burn = Burn(pool, books.policies)
    books.at(LATER)
    before = (await burn.forecasts(TENANT, [S1]))[S1]
    assert await forget(pool, LATER) == (1, Outcome.NONE)
    assert (await burn.forecasts(TENANT, [S1]))[S1] == before
    await burn.sample()
    assert await pool.fetchval("select min(at) from balance_samples") == START


async def test_usage_of_a_late_report_replaces_a_charge_that_is_gone(books: Books, pool: Pool) -> None:
    books.at(START)
    hold = await books.hold("k", 100, lease_ms=86_400_000)
    await books.ledger.start_attempt(TENANT, hold, 1)
    await books.ledger.release(TENANT, hold_id=hold)
    await close_all(pool, 100)
    books.at(START + DAY)
    await books.settle(hold, 30)
    reports = UsageReports(pool)

    async def usage() -> object:
        return (await reports.report(TENANT, By.SESSION, START + DAY / 2, START + 2 * DAY)).lines

    before = await usage()
    assert await forget(pool, LATER) == (1, Outcome.NONE)
    assert await usage() == before


async def test_the_ledger_says_until_when_it_is_deleted(books: Books, pool: Pool) -> None:
    entries = Entries(pool)
    assert await entries.deleted_until() is None
    books.at(START)
    await books.spend("old", 10)
    await close_all(pool, 100)
    books.at(START + DAY)
    await books.spend("young", 10)
    assert await forget(pool, LATER) == (1, Outcome.NONE)
    assert await entries.deleted_until() == START
    page = await entries.list(TENANT)
    assert [(entry.seq, entry.after.spent.tokens) for entry in page.entries] == [(4, 20), (3, 10)]


async def test_entries_of_a_task_are_found_when_the_first_one_of_their_hold_is_gone(books: Books, pool: Pool) -> None:
    books.at(START)
    hold = await books.hold("k", 100, 0, "session:s1", "task:t1")
    await books.ledger.start_attempt(TENANT, hold, 1)
    await books.ledger.release(TENANT, hold_id=hold)
    await close_all(pool, 100)
    books.at(START + DAY)
    await books.settle(hold, 60)
    assert await forget(pool, LATER) == (1, Outcome.NONE)
    entries = Entries(pool)
    left = (await entries.list(TENANT)).entries
    assert [(entry.kind, str(entry.scope)) for entry in left] == [("late", "task:t1"), ("late", "session:s1")]
    assert (await entries.list(TENANT, task="t1")).entries == left
    assert (await entries.list(TENANT, task="t1", scope=S1)).entries == left[1:]


async def test_lines_of_deleted_days_are_not_compared(books: Books, pool: Pool) -> None:
    books.at(START)
    gone = await books.hold("old", 100)
    await books.settle(gone, 100)
    await close_all(pool, 100)
    books.at(START + DAY)
    young = await books.hold("young", 50)
    await books.settle(young, 50)
    old_day, young_day = START.date(), (START + DAY).date()
    old, later = ProviderUse("", old_day, "", 1, 100), ProviderUse("", young_day, "", 1, 50)
    old_request, later_request = (
        ProviderUse(f"{gone}-1", old_day, "", 1, 100),
        ProviderUse(f"{young}-1", young_day, "", 1, 50),
    )
    files = UsageFile("openai", (old, later)), UsageFile("requests", (old_request, later_request))
    for file in files:
        before = await reconcile(pool, [TENANT], file)
        assert (before.ok, before.captured_tokens, before.not_compared, before.complete_after) == (True, 150, 0, None)
    assert await forget(pool, LATER) == (1, Outcome.NONE)
    for file in files:
        found = await reconcile(pool, [TENANT], file)
        assert (found.ok, found.captured_tokens, found.not_compared, found.complete_after) == (True, 50, 1, START)
        with pytest.raises(InvalidRequest, match="complete after 2027-11-20T12:00"):
            await reconcile(pool, [TENANT], UsageFile(file.format, file.uses[:1]))


async def test_scopes_keep_their_place_in_the_tree(books: Books, pool: Pool) -> None:
    books.at(START)
    await books.spend("old", 10, 0, "session:s1", "task:t1", "agent:t1/a1")
    await close_all(pool, 100)
    assert await forget(pool, LATER) == (1, Outcome.NONE)
    tree = ScopeTree(pool, books.policies)
    (session,) = await tree.children(TENANT, None, 9)
    (task,) = await tree.children(TENANT, session.scope, 9)
    (agent,) = await tree.children(TENANT, task.scope, 9)
    assert [str(one.scope) for one in (session, task, agent)] == ["session:s1", "task:t1", "agent:t1/a1"]


async def test_a_trial_of_limits_counts_what_a_lifetime_has_spent(books: Books, pool: Pool) -> None:
    books.at(START)
    await books.spend("old", 90)
    await close_all(pool, 100)
    books.at(START + DAY)
    await books.spend("young", 20)
    assert await forget(pool, LATER) == (1, Outcome.NONE)
    since = START + DAY / 2
    assert await refused(books, since, none={"limit_tokens": 109}) == 1
    assert await refused(books, since, none={"limit_tokens": 110}) == 0
