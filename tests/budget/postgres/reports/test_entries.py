"""Reading entries: all of them, in order, whatever is written meanwhile."""

import re
from datetime import UTC, datetime, timedelta

import pytest

from purser.budget.gate import Amount
from purser.budget.postgres.connections.pools import Pool
from purser.budget.postgres.ledger.batches import Ask, Settle, hold_together, settle_together
from purser.budget.postgres.reports.entries import _SQL, Entries
from purser.budget.reports.entries import EntryKind
from purser.budget.scopes import Scope
from tests.support.ledger import TENANT, Books, report, request

S1 = Scope.parse("session:s1")


async def rows_read(
    pool: Pool, *, scope: str | None = None, task: str | None = None, cursor: int | None = None, limit: int
) -> float:
    """Rows that all steps of the plan of a page read.

    Postgres may read a ledger as small as this one whole. It has as little memory here as for a large one, and indexes.
    """
    async with pool.acquire() as own, own.transaction(readonly=True):
        await own.execute(_SQL["plans"])
        await own.execute("set local work_mem = '64kB'; set local hash_mem_multiplier = 1")
        await own.execute("set local enable_seqscan = off")
        arguments = (TENANT, scope, None, None, task, None, None, cursor, limit)
        plan = "\n".join(
            row[0] for row in await own.fetch(f"explain (analyze, format text) {_SQL['list']}", *arguments)
        )
    steps = re.findall(r"rows=([\d.]+) loops=(\d+)\)(?:\n(?!.*rows=).*Removed by .*: (\d+))?", plan)
    assert steps, plan
    return sum((float(rows) + int(removed or 0)) * int(loops) for rows, loops, removed in steps)


@pytest.fixture
async def entries(books: Books) -> Entries:
    return Entries(books.pool)


async def test_the_sums_of_what_moved_are_the_balance(books: Books, entries: Entries) -> None:
    await books.settle(await books.hold("k1", 100, 10), 130, 15)
    await books.grant("session:s1", 40)
    await books.hold("k2", 7)
    page = await entries.list(TENANT, scope=S1)
    newest = page.entries[0].after
    assert sum((entry.moved.spent for entry in page.entries), Amount()) == newest.spent == Amount(130, 15)
    assert sum((entry.moved.held for entry in page.entries), Amount()) == newest.held == Amount(7, 0)
    assert sum((entry.moved.granted for entry in page.entries), Amount()) == newest.granted == Amount(40, 0)
    assert sum((entry.moved.overrun for entry in page.entries), Amount()) == newest.overrun == Amount(30, 5)


async def test_a_window_has_its_start_and_a_lifetime_none(books: Books, entries: Entries) -> None:
    books.at(datetime(2026, 11, 20, 12, tzinfo=UTC))
    await books.budget("session:s1", window="day", timezone="UTC")
    await books.hold("k", 1, 0, "session:s1", "task:t1")
    starts = {str(entry.scope): entry.window_start for entry in (await entries.list(TENANT)).entries}
    assert starts == {"session:s1": datetime(2026, 11, 20, tzinfo=UTC), "task:t1": None}


async def test_the_windows_without_a_start_are_told_apart(books: Books, entries: Entries) -> None:
    for window in ("lifetime", "1h", "24h", "31d"):
        await books.budget("session:s1", window=window)
        await books.hold(window, 1)
    page = await entries.list(TENANT, scope=S1, kind=EntryKind.HOLD)
    assert [(entry.rolling, entry.seq) for entry in page.entries] == [("31d", 1), ("1d", 1), ("1h", 1), (None, 1)]
    assert {entry.window_start for entry in page.entries} == {None}


async def test_an_entry_without_a_hold_names_its_actor(books: Books, entries: Entries) -> None:
    await books.hold("k", 1)
    await books.budget("session:s1", limit_tokens=500)
    [lowered] = (await entries.list(TENANT, kind=EntryKind.LIMIT_LOWERED)).entries
    assert (lowered.ref, lowered.hold_id, lowered.key, lowered.path, lowered.limit_tokens) == (
        "test",
        None,
        None,
        (),
        500,
    )


async def test_all_gives_each_entry_once_while_others_are_written(
    books: Books, entries: Entries, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("purser.budget.postgres.reports.entries.CHUNK", 3)
    for number in range(5):
        await books.spend(f"k{number}", 1)
    before = [entry.entry_id for entry in (await entries.list(TENANT, limit=1_000)).entries]
    seen: list[int] = []
    async for page in entries.all(TENANT):
        seen += [entry.entry_id for entry in page.entries]
        await books.spend(f"more-{len(seen)}", 1)
    assert seen == before


async def test_pages_of_a_scope_go_through_all_its_windows(
    books: Books, entries: Entries, monkeypatch: pytest.MonkeyPatch
) -> None:
    await books.budget("session:s1", window="day", limit_tokens=1_000)
    for day in range(1, 4):
        books.at(datetime(2026, 11, day, 12, tzinfo=UTC))
        for number in range(3):
            await books.spend(f"k{day}-{number}", 1, 0, "session:s1", "task:t1")
            await books.spend(f"other{day}-{number}", 1, 0, "session:s2", "task:t2")
    whole = (await entries.list(TENANT, scope=S1, limit=1_000)).entries
    assert [entry.key for entry in whole if entry.key and entry.kind == "hold"] == [
        f"k{day}-{number}" for day in (3, 2, 1) for number in (2, 1, 0)
    ]
    monkeypatch.setattr("purser.budget.postgres.reports.entries.CHUNK", 4)
    assert [entry async for page in entries.all(TENANT, scope=S1) for entry in page.entries] == list(whole)
    beyond = await entries.list(TENANT, scope=S1, cursor=str(10**12), limit=1_000)
    assert beyond.entries == whole


async def test_pages_of_a_scope_include_a_window_that_ends_before_one_that_was_posted_earlier(
    books: Books, entries: Entries
) -> None:
    await books.budget("session:s1", window="hour", limit_tokens=1_000)
    hour, moment = datetime(2026, 11, 3, 11, tzinfo=UTC), timedelta(milliseconds=1)
    books.at(hour + moment)
    await books.hold("later window", 10)
    books.at(hour - moment)
    await books.hold("earlier window", 10)
    newest = await entries.list(TENANT, scope=S1, limit=1)
    assert [entry.key for entry in newest.entries] == ["earlier window"]
    then = await entries.list(TENANT, scope=S1, limit=1, cursor=newest.cursor)
    assert [entry.key for entry in then.entries] == ["later window"]


async def test_a_page_does_not_read_windows_after_it(books: Books, entries: Entries) -> None:
    await books.budget("session:s1", window="day", limit_tokens=1_000)
    books.at(datetime(2026, 11, 1, 12, tzinfo=UTC))
    await books.spend("first", 1)
    [newest, _] = (await entries.list(TENANT, scope=S1)).entries
    books.at(datetime(2026, 11, 2, 12, tzinfo=UTC))
    for number in range(100):
        await books.spend(f"k{number}", 1)
    await books.pool.execute("analyze")  # the last statistics may be of tables that were just emptied
    assert await rows_read(books.pool, scope="session:s1", cursor=newest.entry_id, limit=10) < 100


@pytest.mark.proof
async def test_the_task_filter_does_not_compare_each_entry_with_each_hold(books: Books) -> None:
    books.at(now := datetime(2026, 11, 3, tzinfo=UTC))
    for task in ("t0", "t1"):
        await books.spend(task, 1, 0, "session:s1", f"task:{task}")
    for batch in range(180):
        asks = [
            Ask(TENANT, request(f"{batch}-{call}", 1, 0, "session:s1", f"task:t{call % 2}", patient=False))
            for call in range(10)
        ]
        held = [answer for answer in await hold_together(books.pool, books.settings, now, asks) if answer]
        settles = [Settle(TENANT, int(answer.hold_id), 1, report(1)) for answer in held if answer.hold_id]
        assert len(settles) == 10
        await settle_together(books.pool, books.settings, now, settles)
    await books.pool.execute("analyze")
    for scope in (None, "session:s1"):
        assert await rows_read(books.pool, scope=scope, task="t1", limit=1_000) < 100_000


async def test_the_task_filter_takes_the_holds_of_the_task_on_all_their_scopes(books: Books, entries: Entries) -> None:
    await books.spend("k1", 1, 0, "session:s1", "task:t1", "agent:t1/a")
    await books.spend("k2", 1, 0, "session:s1", "task:t2")
    await books.spend("k3", 1, 0, "session:s1")
    found = (await entries.list(TENANT, task="t1")).entries
    assert {entry.key for entry in found} == {"k1"}
    assert {str(entry.scope) for entry in found} == {"session:s1", "task:t1", "agent:t1/a"}
    assert (await entries.list(TENANT, task="")).entries == ()


async def test_no_tenant_sees_another(books: Books, entries: Entries) -> None:
    hold_id = await books.hold("k", 1, 0, "session:s1", "task:t1")
    assert (await entries.list("other")).entries == ()
    assert (await entries.list("other", scope=S1)).entries == ()
    assert (await entries.list("other", hold_id=hold_id)).entries == ()
    assert (await entries.list("other", task="t1")).entries == ()
