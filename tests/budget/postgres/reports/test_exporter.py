"""Figures for metrics: which budgets count, in which band, and which are omitted."""

import asyncio
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from purser.budget.approvals import ApprovalState, Choice
from purser.budget.errors import LedgerUnavailable
from purser.budget.gate import Amount
from purser.budget.policies.fields import Mode
from purser.budget.policies.policy import Policy, PolicyPatch
from purser.budget.postgres.connections.pools import Pool, create_pool
from purser.budget.postgres.events.outbox import put
from purser.budget.postgres.ledger.batches import Ask, hold_together
from purser.budget.postgres.ledger.policy_sets import PolicySets
from purser.budget.postgres.reports.burn import Burn
from purser.budget.postgres.reports.exporter import WAITED_S, Budgets, Exporter, Figures
from purser.budget.scopes import Kind, Scope
from tests.budget.postgres.audit.history import History
from tests.support.actors import TESTER
from tests.support.approvals import NOW, open_desk
from tests.support.ledger import TENANT, Books, request
from tests.support.rows_read import rows_read

TIMEOUT_S = 30
DAY = timedelta(days=1)
MANY = 3_000
# Sessions that were last used two days ago, each with a policy, two calls that a policy in shadow would have refused,
# and an approval request that was denied.
IDLE = f"""
alter table policies disable trigger emit_policy;
insert into scopes (tenant, kind, id) select '{TENANT}', 'session', 's' || n from generate_series(1, {MANY}) n;
insert into balances (tenant, scope_id, window_start, seq, spent_tokens, updated_at)
    select tenant, scope_id, '-infinity', 1, 1, now() - interval '2 days' from scopes;
insert into policies (tenant, scope_id, limit_tokens, "window", updated_by, updated_at)
    select tenant, scope_id, 100, 'lifetime', 'test', now() from scopes;
alter table policies enable trigger emit_policy;
insert into shadow_counts (tenant, scope_id, window_start, outcome, calls, tokens, nano, delay_ms)
    select tenant, scope_id, '-infinity', 'refuse', 2, 0, 0, 0 from scopes;
insert into approvals (tenant, approval_id, scope_id, window_start, state, asked_tokens, asked_nano, rules, created_at,
                       deadline, decided_at)
    select tenant, id, scope_id, '-infinity', 'denied', 1, 0, '{{}}', now(), now(), now() + interval '45 s' from scopes;
"""
READ = ("scopes", "balances", "policies", "templated_policies", "shadow_counts", "approvals")


async def read(books: Books, now: datetime | None = None, **options: Any) -> Figures:
    return await Exporter(books.pool, books.settings, now=now or books.ledger.now, **options).figures(TIMEOUT_S)


async def sessions(books: Books, now: datetime | None = None, mode: Mode = Mode.HARD) -> Budgets | None:
    return (await read(books, now)).budgets.get((Kind.SESSION, mode))


async def bands(books: Books, now: datetime | None = None, mode: Mode = Mode.HARD) -> dict[str, int]:
    """Sessions by band, bands without any left out."""
    found = await sessions(books, now, mode)
    return {band: count for band, count in found.scopes.items() if count} if found else {}


# --- bands -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("limit", "spent", "band"),
    [
        (100, 0, "under_80"),
        (100, 79, "under_80"),
        (100, 80, "from_80"),
        (100, 94, "from_80"),
        (100, 95, "from_95"),
        (100, 99, "from_95"),
        (100, 100, "from_100"),
        # 0.80 of 99 is 79.2, and 0.95 of it is 94.05.
        (99, 79, "under_80"),
        (99, 80, "from_80"),
        (99, 94, "from_80"),
        (99, 95, "from_95"),
        # No rounding to a float decides: 0.95 of it is 8556839292003939.55.
        (10**9 - 3, 949_999_997, "from_80"),
        (10**9 - 3, 949_999_998, "from_95"),
    ],
)
@pytest.mark.parametrize("unit", ["tokens", "nano_usd"])
async def test_a_band_begins_at_its_ratio_exactly(books: Books, limit: int, spent: int, band: str, unit: str) -> None:
    limits: dict[str, Any] = {f"limit_{unit}": limit}
    await books.budget("session:s1", mode="hard", **limits)
    if spent:
        await books.spend("k", *((spent, 0) if unit == "tokens" else (1, spent)))
    else:
        await books.hold("k", 1)
        await books.ledger.release("acme", key="k")
    assert await bands(books) == {band: 1}


async def test_what_is_held_counts_like_what_is_spent(books: Books) -> None:
    await books.budget("session:s1", mode="hard", limit_tokens=100)
    await books.spend("k1", 50)
    await books.hold("k2", 45)
    found = await sessions(books)
    assert found is not None
    assert (found.scopes["from_95"], found.highest_ratio) == (1, 0.95)
    assert (found.spent, found.held) == (Amount(50), Amount(45))


async def test_the_shorter_of_tokens_and_money_decides(books: Books) -> None:
    await books.budget("session:s1", mode="hard", limit_tokens=1_000, limit_nano_usd=100)
    await books.spend("k", 10, 96)
    found = await sessions(books)
    assert found is not None
    assert (found.scopes["from_95"], found.highest_ratio) == (1, 0.96)


async def test_a_grant_widens_what_a_share_is_taken_of(books: Books) -> None:
    await books.budget("session:s1", mode="hard", limit_tokens=100)
    await books.spend("k", 100)
    assert await bands(books) == {"from_100": 1}
    await books.grant("session:s1", 100)
    assert await bands(books) == {"under_80": 1}


async def test_a_limit_of_nothing_is_used_up(books: Books) -> None:
    await books.budget("session:s1", mode="soft", limit_tokens=0)
    await books.spend("k", 5)
    found = await sessions(books, mode=Mode.SOFT)
    assert found is not None
    assert (found.scopes["from_100"], found.highest_ratio) == (1, 1.0)


async def test_scopes_are_counted_by_kind_and_mode(books: Books) -> None:
    for scope, mode in (("session:s1", "hard"), ("session:s2", "soft"), ("task:t1", "approval"), ("user:u1", "hard")):
        await books.budget(scope, mode=mode, limit_tokens=100)
        await books.spend(scope, 90, 0, scope)
    found = (await read(books)).budgets
    assert {key: one.scopes["from_80"] for key, one in found.items()} == {
        (Kind.SESSION, Mode.HARD): 1,
        (Kind.SESSION, Mode.SOFT): 1,
        (Kind.TASK, Mode.APPROVAL): 1,
        (Kind.USER, Mode.HARD): 1,
    }


async def test_a_scope_without_a_limit_is_in_no_band_and_its_spending_counts(books: Books) -> None:
    await books.spend("k", 70, 7)
    found = await sessions(books, mode=Mode.SOFT)
    assert found is not None
    assert sum(found.scopes.values()) == 0
    assert (found.spent, found.highest_ratio) == (Amount(70, 7), 0.0)


@pytest.mark.parametrize("source", ["own", "template", "task", "default"])
async def test_a_policy_that_is_only_tried_is_in_no_band(pool: Pool, source: str) -> None:
    tried = Policy(shadow=True, limit_tokens=100)
    books = Books.on(pool, defaults={kind: tried if source == "default" else Policy() for kind in Kind})
    fields: dict[str, Any] = {} if source == "default" else {"limit_tokens": 100, "mode": "hard", "shadow": True}
    if source == "template":
        await PolicySets(pool, books.policies).apply(TENANT, {"task:*": PolicyPatch.parse(fields)}, by=TESTER)
    elif source != "default":
        await books.budget("task:t1", task="t1" if source == "task" else "", **fields)
    await books.spend("k", 100, 0, "task:t1")
    assert [found for found in (await read(books)).budgets.values() if any(found.scopes.values())] == []
    if source == "own":
        await books.budget("task:t1", shadow=False)
        assert (await read(books)).budgets[Kind.TASK, Mode.HARD].scopes["from_100"] == 1


# --- which balances --------------------------------------------------------------------------------------------------


async def test_only_the_current_window_counts(books: Books) -> None:
    monday, tuesday = datetime(2026, 11, 16, 12, tzinfo=UTC), datetime(2026, 11, 17, 12, tzinfo=UTC)
    await books.budget("session:s1", mode="hard", limit_tokens=100, window="day")
    books.at(monday)
    await books.spend("k1", 100)
    assert await bands(books, monday) == {"from_100": 1}
    assert await bands(books, tuesday) == {}
    books.at(tuesday)
    await books.spend("k2", 85)
    found = await sessions(books)
    assert found is not None
    assert {band: count for band, count in found.scopes.items() if count} == {"from_80": 1}
    assert found.spent == Amount(185), "spending is summed over all windows"


async def test_a_scope_counts_in_the_window_of_its_time_zone(books: Books) -> None:
    evening = datetime(2026, 11, 16, 23, 30, tzinfo=UTC)
    await books.budget("session:s1", mode="hard", limit_tokens=100, window="day", timezone="Europe/Berlin")
    books.at(evening)
    await books.spend("k1", 100)
    assert await bands(books, evening + timedelta(hours=1)) == {"from_100": 1}, "it is the same day in Berlin"
    assert await bands(books, evening + DAY) == {}


async def test_a_time_zone_alone_moves_the_default_window(pool: Pool) -> None:
    evening = datetime(2026, 11, 16, 23, 30, tzinfo=UTC)
    books = Books.on(pool, defaults=dict.fromkeys(Kind, Policy(window="day")))
    await books.budget("session:s1", mode="hard", limit_tokens=100, timezone="Europe/Berlin")
    books.at(evening)
    await books.spend("k1", 100)
    assert await bands(books, evening + timedelta(hours=1)) == {"from_100": 1}
    assert await bands(books, evening + DAY) == {}


async def test_a_scope_counts_in_the_window_of_its_template(books: Books) -> None:
    await PolicySets(books.pool, books.policies).apply(TENANT, {"session:*": PolicyPatch(window="day")}, by=TESTER)
    await books.budget("session:s1", mode="hard", limit_tokens=100)
    books.at(NOW)
    await books.spend("k1", 100)
    assert await bands(books, NOW) == {"from_100": 1}
    assert await bands(books, NOW + DAY) == {}


async def test_a_window_that_a_task_asked_for_is_that_of_its_scopes(books: Books) -> None:
    books.at(NOW)
    await books.budget("task:t1", task="t1", mode="hard", limit_tokens=100, window="hour")
    await books.spend("k1", 90, 0, "task:t1")
    assert (await read(books)).budgets[Kind.TASK, Mode.HARD].scopes["from_80"] == 1
    later = await read(books, NOW + timedelta(hours=1))
    assert later.budgets[Kind.TASK, Mode.HARD].scopes["from_80"] == 0


async def test_after_a_change_of_the_window_the_old_balance_no_longer_counts(books: Books) -> None:
    await books.budget("session:s1", mode="hard", limit_tokens=100)
    await books.spend("k1", 100)
    await books.budget("session:s1", window="day")
    assert await bands(books) == {}
    await books.spend("k2", 80)
    assert await bands(books) == {"from_80": 1}


@pytest.mark.parametrize(
    "changes",
    [
        [{"window": "day"}, {"limit_tokens": 1_000}, {"window": "lifetime"}],
        [{"window": "day"}, {"limit_tokens": 20_000}, {"window": "lifetime"}],
        [{"window": "day"}, {"limit_nano_usd": 1}, {"window": "lifetime"}],
        [{"window": "day"}, {"mode": "soft"}, {"window": "lifetime"}],
        [{"window": "7d"}, {"limit_tokens": 1_000}, {"clear": ["window"]}],
        [{"window": "day"}, {"window": "month", "limit_tokens": 1_000}, {"window": "lifetime"}],
        [{"clear": ["limit_tokens", "mode"]}, {"window": "day"}, None],
    ],
    ids=str,
)
async def test_it_counts_as_it_is_shown_however_its_policy_changed_while_another_window_was_current(
    books: Books, changes: list[dict[str, Any] | None]
) -> None:
    books.at(NOW)
    sets = PolicySets(books.pool, books.policies)
    await sets.apply(TENANT, {"user:*": PolicyPatch(limit_tokens=10_000, mode=Mode.HARD)}, by=TESTER)
    await books.budget("user:u1", mode="hard", limit_tokens=10_000)
    await books.spend("k1", 2_000, 0, "user:u1")
    for change in changes:
        if change is None:
            await sets.apply(TENANT, {}, by=TESTER, prune=True)
        else:
            await books.budget("user:u1", **change)
    await counts_as_shown(books)
    await books.check()


async def test_it_counts_as_it_is_shown_after_its_time_zone_was_another_for_a_while(books: Books) -> None:
    books.at(datetime(2026, 11, 16, 23, 30, tzinfo=UTC))
    await books.budget("user:u1", mode="hard", limit_tokens=10_000, window="day")
    await books.spend("k1", 2_000, 0, "user:u1")
    await books.budget("user:u1", timezone="Europe/Berlin")
    await books.budget("user:u1", limit_tokens=1_000)
    await books.budget("user:u1", clear=["timezone"])
    await counts_as_shown(books)


async def counts_as_shown(books: Books) -> None:
    """Fails unless the figures of users are those of the only user's budget as it is shown."""
    ([view], _), figures = await books.policies.budgets(TENANT, kind=Kind.USER), (await read(books)).budgets
    limit = Amount(view.policy.limit_tokens or 0, view.policy.limit_nano_usd or 0)
    found = {mode: one for (kind, mode), one in figures.items() if kind is Kind.USER and any(one.scopes.values())}
    assert {mode: (one.highest_ratio, one.limit) for mode, one in found.items()} == (
        {view.policy.mode: (view.ratio, limit)} if limit != Amount() else {}
    )


async def test_the_lifetime_budget_of_a_session_leaves_half_an_hour_after_its_last_movement(books: Books) -> None:
    books.at(NOW)
    await books.budget("session:s1", mode="hard", limit_tokens=100)
    await books.spend("k1", 100)
    assert await bands(books, NOW + timedelta(minutes=30, seconds=-1)) == {"from_100": 1}
    assert await bands(books, NOW + timedelta(minutes=30)) == {}


@pytest.mark.parametrize("scope", ["tenant:acme", "user:u1"])
async def test_the_budget_of_a_tenant_or_a_user_counts_however_quiet_it_is(books: Books, scope: str) -> None:
    books.at(NOW)
    await books.budget(scope, mode="hard", limit_tokens=100)
    await books.spend("k1", 100, 0, scope)
    later = (await read(books, NOW + 40 * DAY)).budgets
    assert later[Scope.parse(scope).kind, Mode.HARD].scopes["from_100"] == 1


async def test_ended_tasks_and_agents_leave_at_once_whatever_their_window(books: Books) -> None:
    books.at(NOW)
    path = ("task:t1", "agent:t1/a")
    await books.budget("task:t1", mode="hard", limit_tokens=100, window="month")
    await books.budget("agent:t1/a", mode="hard", limit_tokens=100)
    await books.spend("k1", 100, 0, *path)
    used = Counter(from_100=1)
    kinds = ((Kind.TASK, Mode.HARD), (Kind.AGENT, Mode.HARD))
    assert [+Counter((await read(books)).budgets[key].scopes) for key in kinds] == [used, used]
    await books.ledger.end_scopes("acme", map(Scope.parse, path))
    assert [+Counter((await read(books)).budgets[key].scopes) for key in kinds] == [Counter(), Counter()]
    assert (await read(books)).budgets[Kind.TASK, Mode.HARD].spent == Amount(100), "what was spent stays"


async def test_an_ended_scope_that_moves_again_counts_again_for_a_while(books: Books) -> None:
    books.at(NOW)
    await books.budget("task:t1", mode="hard", limit_tokens=100)
    await books.spend("k1", 50, 0, "task:t1")
    await books.ledger.end_scopes("acme", [Scope.parse("task:t1")])
    books.at(NOW + timedelta(minutes=1))
    await books.hold("k2", 45, 0, "task:t1")
    assert (await read(books)).budgets[Kind.TASK, Mode.HARD].scopes["from_95"] == 1
    await books.ledger.release("acme", key="k2")
    assert (await read(books, NOW + timedelta(minutes=40))).budgets[Kind.TASK, Mode.HARD].scopes["under_80"] == 0


async def test_only_the_scopes_of_one_tenant_end(books: Books) -> None:
    books.at(NOW)
    await books.budget("task:t1", mode="hard", limit_tokens=100)
    await books.spend("k1", 100, 0, "task:t1")
    await books.ledger.end_scopes("other", [Scope.parse("task:t1")])
    assert (await read(books)).budgets[Kind.TASK, Mode.HARD].scopes["from_100"] == 1


async def test_a_lifetime_counts_as_long_as_something_is_held(books: Books) -> None:
    books.at(NOW)
    await books.budget("session:s1", mode="hard", limit_tokens=100)
    await books.hold("k1", 100)
    assert await bands(books, NOW + 2 * DAY) == {"from_100": 1}


async def test_a_calendar_window_counts_until_it_ends_however_quiet_it_is(books: Books) -> None:
    first = datetime(2026, 11, 1, tzinfo=UTC)
    books.at(first)
    await books.budget("session:s1", mode="hard", limit_tokens=100, window="month")
    await books.spend("k1", 100)
    assert await bands(books, datetime(2026, 11, 30, 23, 59, tzinfo=UTC)) == {"from_100": 1}
    assert await bands(books, datetime(2026, 12, 1, tzinfo=UTC)) == {}


async def test_what_does_not_count_any_more_is_not_read(counting_pool: Pool) -> None:
    books = Books.on(counting_pool)
    await counting_pool.execute(IDLE)
    await books.budget("session:busy", mode="hard", limit_tokens=100)
    await books.spend("k", 80, 0, "session:busy")
    assert await Exporter(counting_pool, books.settings).mark_dormant() == 3 * MANY
    await counting_pool.execute("analyze")
    before = await rows_read(counting_pool, *READ)
    found = await read(books)
    await Burn(counting_pool, books.policies).sample()
    after = await rows_read(counting_pool, *READ)
    assert found.budgets[Kind.SESSION, Mode.HARD].scopes["from_80"] == 1
    assert sum(one.spent.tokens for one in found.budgets.values()) == 80 + MANY
    assert found.shadow_calls == {(Kind.SESSION, "refuse"): 2 * MANY}
    assert found.ended_approvals[ApprovalState.DENIED].count == MANY
    assert {table: rows for table in after if (rows := after[table] - before[table]) > MANY // 100} == {}


async def test_figures_are_the_same_whether_balances_are_dormant(pool: Pool, seed: int) -> None:
    history, total = await History.begin(pool, seed), 0
    await history.books.budget("session:s3@day", limit_tokens=50_000)
    for turn in range(10):
        await history.go_on(15)
        await history.books.ledger.end_scopes(TENANT, [Scope(Kind.TASK, f"t{1 + turn % 2}")])
        exporter = Exporter(pool, history.books.settings, now=history.now + turn % 3 * timedelta(hours=9))
        before = await exporter.figures(TIMEOUT_S)
        total += await exporter.mark_dormant()
        assert (await exporter.figures(TIMEOUT_S)).budgets == before.budgets
    assert total > await pool.fetchval("select count(*) from balances where dormant") > 0
    assert await pool.fetchval("select count(*) > count(distinct (tenant, kind, mode)) from dormant_totals") is False
    await history.books.check()


async def test_a_call_counts_once_whether_its_shadow_count_is_dormant_or_moves_again(books: Books) -> None:
    books.at(NOW)
    await books.budget("session:s1", mode="hard", limit_tokens=100, shadow=True)
    for calls in range(1, 4):
        await books.hold(f"k{calls}", 101)
        counted = {(Kind.SESSION, "refuse"): calls}
        assert (await read(books)).shadow_calls == counted
        await books.ledger.release(TENANT, key=f"k{calls}")
        books.at(NOW + calls * DAY)
        assert await Exporter(books.pool, books.settings, now=books.ledger.now).mark_dormant() == 2
        assert (await read(books)).shadow_calls == counted


@pytest.mark.parametrize("together", [False, True])
async def test_a_dormant_balance_counts_again_once_it_moves(books: Books, together: bool) -> None:
    books.at(NOW)
    await books.budget("session:s1", mode="hard", limit_tokens=100)
    await books.spend("k1", 50)
    books.at(NOW + DAY)
    assert await Exporter(books.pool, books.settings, now=NOW + DAY).mark_dormant() == 1
    if together:
        await hold_together(books.pool, books.settings, NOW + DAY, [Ask(TENANT, request("k2", 45))])
    else:
        await books.hold("k2", 45)
    assert await bands(books) == {"from_95": 1}


async def test_what_is_exhausted_soon_is_not_dormant(books: Books) -> None:
    books.at(NOW)
    for scope in ("session:s1", "task:t1", "user:u1"):
        await books.budget(scope, mode="hard", limit_tokens=100)
        await books.spend(scope, 50, 0, scope)
    marked = []
    for hours in (23, 24):
        exporter = Exporter(books.pool, books.settings, now=NOW + timedelta(hours=hours))
        marked.append(await exporter.mark_dormant())
    assert marked == [0, 2]


async def test_marking_waits_for_no_call_and_goes_through_all_balances(
    books: Books, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("purser.budget.postgres.reports.exporter.BATCH", 2)
    books.at(NOW)
    for number in range(6):
        await books.spend(f"k{number}", 10, 0, f"session:s{number}")
    exporter = Exporter(books.pool, books.settings, now=NOW + DAY)
    async with books.pool.acquire() as own, own.transaction():
        await own.execute("select 1 from balances where scope_id = (select max(scope_id) from scopes) for update")
        assert await exporter.mark_dormant() == 5
    assert await exporter.mark_dormant() == 1


async def test_what_falls_out_of_a_window_and_what_late_reports_lower_stays_in_the_totals(books: Books) -> None:
    books.at(NOW)
    await books.budget("session:s1", mode="soft", limit_tokens=1_000, window="1h")
    hold = await books.hold("late", 10)
    await books.ledger.start_attempt(TENANT, hold, 1, most=Amount(90))
    await books.ledger.release(TENANT, hold_id=hold)
    await books.settle(await books.hold("over", 10), 510)

    async def totals() -> tuple[int, int]:
        found = await sessions(books, mode=Mode.SOFT)
        assert found is not None
        return found.spent.tokens, found.overrun.tokens

    assert await totals() == (600, 580)
    await books.settle(hold, 30)
    assert await totals() == (540, 580)
    books.at(NOW + timedelta(hours=2))
    assert await totals() == (540, 580), "nothing is asked"
    await books.settle(await books.hold("last", 10), 12)
    assert (await books.balance())["spent"] == 12
    assert await totals() == (552, 582)


# --- holds, reports, waits -------------------------------------------------------------------------------------------


async def test_holds_are_overdue_once_their_lease_and_grace_are_over(books: Books) -> None:
    books.at(NOW)
    await books.hold("k1", 10, lease_ms=60_000)
    await books.hold("k2", 10)
    in_grace = await read(books, NOW + timedelta(seconds=90))
    assert (in_grace.holds.count, in_grace.overdue_holds, in_grace.holds.oldest_s) == (2, 0, 90.0)
    assert (await read(books, NOW + timedelta(seconds=91))).overdue_holds == 1
    assert (await read(books, NOW + timedelta(seconds=151))).overdue_holds == 2


async def test_what_went_wrong_counts_once_however_long_the_path_is(books: Books) -> None:
    path = ("session:s1", "task:t1", "agent:t1/a1")
    books.at(NOW)
    expiring = await books.hold("k1", 10, 0, *path)
    await books.ledger.start_attempt("acme", expiring)
    await books.hold("k2", 10, 0, *path)
    books.at(NOW + timedelta(minutes=10))
    await books.ledger.sweep()
    before = await read(books)
    assert (before.expired_holds, before.presumed_attempts, before.late_reports) == (2, 1, 0)
    await books.settle(expiring, 4)
    after = await read(books)
    assert (after.expired_holds, after.presumed_attempts, after.late_reports) == (2, 1, 1), "a total never falls"


async def test_asks_that_wait_are_counted_until_they_stop_asking(books: Books) -> None:
    books.at(NOW)
    await books.budget("session:s1", mode="hard", limit_tokens=100)
    await books.hold("k1", 100)
    await books.ask("k2", 50)
    waiting = (await read(books, NOW + timedelta(seconds=3))).waiting_asks
    assert (waiting.count, waiting.oldest_s) == (1, 3.0)
    assert (await read(books, NOW + timedelta(seconds=6))).waiting_asks.count == 0


async def test_approvals_that_are_pending_and_how_long_others_waited(pool: Pool) -> None:
    async with open_desk(pool) as desk:
        ticket = await desk.ask("k1", 500)
        desk.at(NOW + timedelta(seconds=45))
        await desk.decide(ticket, choice=Choice.DENY)
        await desk.ask("k2", 600, task="t2")
        books = Books.on(pool)
        now = NOW + timedelta(seconds=105)
        found = await read(books, now)
        assert await Exporter(pool, books.settings, now=now).mark_dormant() == 1
        assert await read(books, now) == found
    pending = found.pending_approvals
    assert (pending.count, pending.oldest_s, found.next_deadline_s) == (1, 60.0, 1_740.0)
    assert set(found.ended_approvals) == {ApprovalState.DENIED}
    waits = found.ended_approvals[ApprovalState.DENIED]
    assert dict(zip(WAITED_S, waits.counts, strict=True)) == {bound: int(bound >= 45) for bound in WAITED_S}
    assert (waits.count, waits.sum_s) == (1, 45.0)


async def test_without_anything_every_figure_is_nothing(books: Books) -> None:
    found = await read(books)
    assert (found.holds.count, found.overdue_holds, found.expired_holds, found.outbox.count) == (0, 0, 0, 0)
    assert (found.pending_approvals.count, found.next_deadline_s, dict(found.ended_approvals)) == (0, None, {})


async def test_wake_ups_that_are_under_way_have_an_age(pool: Pool) -> None:
    async with pool.acquire() as own:
        await put(own, TENANT, "w1", "wake", {}, NOW)
    found = (await read(Books.on(pool), NOW + timedelta(seconds=7))).outbox
    assert (found.count, found.oldest_s) == (1, 7.0)


# --- drift and time --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change", ["spent_tokens = spent_tokens + 1", "granted_nano = 1", "seq = seq - 1", "seq = seq + 1"]
)
async def test_a_balance_that_was_changed_by_hand_is_found(pool: Pool, change: str) -> None:
    books = Books.on(pool)
    exporter = Exporter(pool, books.settings)
    await books.spend("k1", 10)
    await books.spend("k2", 10, 0, "session:s2")
    assert await exporter.drift(TIMEOUT_S) == 0
    await pool.execute(f"update balances set {change} where scope_id = (select min(scope_id) from scopes)")
    assert await exporter.drift(TIMEOUT_S) == 1


async def test_postgres_itself_stops_a_statement_that_takes_too_long(books: Books, dsn: str) -> None:
    async with await create_pool(dsn, size=1, timeout_s=300) as patient:
        exporter = Exporter(patient, books.settings)
        async with books.pool.acquire() as own, own.transaction():
            await own.execute("lock table balances in access exclusive mode")
            with pytest.raises(LedgerUnavailable):
                async with asyncio.timeout(60):
                    await exporter.figures(timeout_s=0.2)
        await exporter.figures(TIMEOUT_S)


async def test_reading_neither_writes_nor_waits_for_writers(books: Books) -> None:
    await books.spend("k1", 10)
    async with books.pool.acquire() as own, own.transaction():
        await own.execute("select 1 from balances for update")
        assert (await sessions(books, mode=Mode.SOFT)) is not None
