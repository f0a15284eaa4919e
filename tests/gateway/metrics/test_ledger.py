"""Ledger figures at `/metrics`: few series, the same at every gateway, and absent rather than wrong."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from purser.budget.postgres.audit.results import AuditResults, AuditRun
from purser.budget.postgres.connections.pools import Pool
from purser.budget.postgres.events.events import Events
from purser.budget.postgres.reports.burn import Burn
from purser.budget.postgres.reports.exporter import Exporter
from purser.gateway.metrics.ledger import LedgerMetrics, Pace
from tests.support.ledger import Books

AT_ONCE = Pace(fresh_s=0, timeout_s=60, scan_every_s=0, scan_rest=0, scan_wait_s=60)
SCANS = ("drift", "exhausting")
SESSIONS = """
with made as (
    insert into scopes (tenant, kind, id)
    select 'tenant-' || n % 7, 'session', 'secret-session-' || n
    from generate_series($1::int, $2::int) n returning tenant, scope_id
)
insert into balances (tenant, scope_id, window_start, spent_tokens, limit_tokens, mode, updated_at)
select tenant, scope_id, '-infinity', scope_id % 120, 100, (array['hard', 'soft', 'approval'])[1 + scope_id % 3], now()
from made
"""


def metrics(books: Books, pace: Pace = AT_ONCE) -> LedgerMetrics:
    return LedgerMetrics(Exporter(books.pool, books.settings), Burn(books.pool, books.policies), pace)


async def shown(of: LedgerMetrics) -> dict[str, float]:
    """Every sample by its name and labels."""
    text = (await of.text()).decode()
    return {
        sample.name + "".join(f" {value}" for _, value in sorted(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


async def test_ten_thousand_sessions_make_as_many_series_as_ten(pool: Pool) -> None:
    exporter = metrics(Books.on(pool))
    await pool.execute(SESSIONS, 1, 10)
    few = await shown(exporter)
    await pool.execute(SESSIONS, 11, 10_000)
    await pool.execute("analyze scopes, balances")
    text = (await exporter.text()).decode()
    many = await shown(exporter)
    assert set(many) == set(few)
    assert sum(value for name, value in few.items() if name.startswith("purser_budget_scopes ")) == 10
    assert sum(value for name, value in many.items() if name.startswith("purser_budget_scopes ")) == 10_000
    assert "secret-session" not in text
    assert "tenant-" not in text


async def test_gateways_agree_because_they_read_the_same_rows(pool: Pool) -> None:
    books = Books.on(pool)
    await books.budget("session:s1", mode="hard", limit_tokens=100)
    await books.spend("k1", 97)
    one, other = await shown(metrics(books)), await shown(metrics(books))
    for found in (one, other):
        for own in ("purser_exporter_read_seconds", *(f"purser_ledger_scan_age_seconds {scan}" for scan in SCANS)):
            found.pop(own)
    assert one == other
    assert one["purser_budget_scopes from_95 session hard"] == 1
    assert one["purser_budget_usage_ratio_max session hard"] == 0.97
    assert one["purser_spent_tokens session"] == 97


async def test_balances_that_no_longer_count_become_dormant(pool: Pool) -> None:
    books = Books.on(pool)
    books.at(datetime.now(UTC) - timedelta(days=2))
    await books.settle(await books.hold("k1", 10, 5), 25, 9)
    exporter = metrics(books)
    for _ in range(2):
        found = await shown(exporter)
        assert (found["purser_spent_tokens session"], found["purser_overrun_nano_usd_total session"]) == (25, 4)
    assert await pool.fetchval("select bool_and(dormant) from balances join scopes using (tenant, scope_id)"
                               " where kind = 'session'")  # fmt: skip


async def test_overrun_is_reported_and_never_taken_back(pool: Pool) -> None:
    books = Books.on(pool)
    exporter = metrics(books)
    await books.settle(await books.hold("k1", 10, 5), 25, 9)
    found = await shown(exporter)
    assert (found["purser_overrun_tokens_total session"], found["purser_overrun_nano_usd_total session"]) == (15, 4)


async def test_budgets_that_end_soon_are_counted_by_kind(pool: Pool) -> None:
    books = Books.on(pool)
    await books.budget("session:s1", mode="hard", limit_tokens=1_000)
    await books.spend("k1", 10)
    await pool.execute(
        "insert into balance_samples (tenant, scope_id, window_start, at, spent_tokens, spent_nano)"
        " select tenant, scope_id, window_start, now() - $1::interval, 0, 0 from balances",
        timedelta(minutes=30),
    )
    found = await shown(metrics(books))
    assert found["purser_budget_scopes_exhausting session 1h"] == 0
    assert found["purser_budget_scopes_exhausting session 24h"] == 0
    await books.spend("k2", 700)
    found = await shown(metrics(books))
    assert found["purser_budget_scopes_exhausting session 1h"] == 1
    assert found["purser_budget_scopes_exhausting session 24h"] == 1


async def test_limits_are_added_up_by_kind_without_grants(pool: Pool) -> None:
    books = Books.on(pool)
    await books.budget("session:s1", mode="hard", limit_tokens=100, limit_nano_usd=7)
    await books.budget("session:s2", mode="soft", limit_tokens=50)
    await books.spend("k1", 10, 1)
    await books.spend("k2", 10, 0, "session:s2")
    await books.spend("k3", 10, 0, "session:unlimited")
    await books.grant("session:s1", 900)
    found = await shown(metrics(books))
    assert (found["purser_limit_tokens session"], found["purser_limit_nano_usd session"]) == (150, 7)


async def test_the_last_audit_is_shown_and_nothing_before_the_first(pool: Pool) -> None:
    books = Books.on(pool)
    assert not [name for name in await shown(metrics(books)) if name.startswith("purser_audit")]
    ended = datetime.now(UTC) - timedelta(hours=2)
    await AuditResults(pool).store(AuditRun(ended, 1.5, "purser", {}, 3, ()))
    found = await shown(metrics(books))
    assert (found["purser_audit_seconds"], found["purser_audit_differences"]) == (1.5, 3)
    assert found["purser_audit_age_seconds"] >= 7_200


async def test_deliveries_that_fail_and_webhooks_that_were_turned_off(pool: Pool) -> None:
    await pool.execute(
        "insert into webhooks"
        " (webhook_id, tenant, url, kinds, description, enabled, disabled_reason, secret, created_by)"
        " values ('w1', 't', 'https://a.example', '{}', '', true, null, '', 'x'),"
        "        ('w2', 't', 'https://b.example', '{}', '', false, 'failing', '', 'x'),"
        "        ('w3', 't', 'https://c.example', '{}', '', false, null, '', 'x')"
    )
    await pool.execute(
        "insert into deliveries (webhook_id, tenant, position, message_id, payload, state, tries, error) values"
        " ('w1', 't', 1, 'm1', '{}', 'pending', 1, null), ('w1', 't', 2, 'm2', '{}', 'pending', 3, 'timeout'),"
        " ('w1', 't', 3, 'm3', '{}', 'failed', 9, 'timeout'), ('w1', 't', 4, 'm4', '{}', 'delivered', 2, null)"
    )
    found = await shown(metrics(Books.on(pool)))
    assert found["purser_webhook_deliveries_pending"] == 2
    assert found["purser_webhook_deliveries_failing"] == 1
    assert found["purser_webhooks_disabled"] == 1


async def test_of_webhooks_that_are_turned_off_only_tests_are_pending(pool: Pool) -> None:
    await pool.execute(
        "insert into webhooks (webhook_id, tenant, url, kinds, description, enabled, secret, created_by)"
        " values ('w1', 't', 'https://a.example', '{}', '', false, '', 'x')"
    )
    await pool.execute(
        "insert into deliveries (webhook_id, tenant, position, message_id, payload, tries, error, created_at) values"
        " ('w1', 't', 1, 'm1', '{}', 3, 'timeout', now() - interval '1 day'),"
        " ('w1', 't', null, 'm2', '{}', 1, 'status', now())"
    )
    found = await shown(metrics(Books.on(pool)))
    assert found["purser_webhook_deliveries_pending"] == found["purser_webhook_deliveries_failing"] == 1
    assert found["purser_webhook_delivery_oldest_seconds"] < 3_600


async def test_the_oldest_event_that_no_gateway_has_looked_at_for_webhooks(pool: Pool) -> None:
    books = Books.on(pool)
    assert (await shown(metrics(books)))["purser_webhook_event_oldest_seconds"] == 0
    for minutes in (20, 10):
        await pool.execute(
            "select put_event('t', 'task', null, '{}', now() - make_interval(mins => $1))", minutes
        )  # fmt: skip
    await Events(pool).number()
    assert 1_200 <= (await shown(metrics(books)))["purser_webhook_event_oldest_seconds"] < 2_400
    await pool.execute("update webhook_cursor set position = (select min(position) from events)")
    assert 600 <= (await shown(metrics(books)))["purser_webhook_event_oldest_seconds"] < 1_200
    await pool.execute("update webhook_cursor set position = (select max(position) from events)")
    assert (await shown(metrics(books)))["purser_webhook_event_oldest_seconds"] == 0


async def test_a_deadline_is_shown_where_something_is_pending_and_not_at_all_otherwise(pool: Pool) -> None:
    assert "purser_approval_deadline_seconds" not in await shown(metrics(Books.on(pool)))


async def test_where_the_database_is_too_slow_nothing_is_shown_but_scans_with_their_age(pool: Pool) -> None:
    books = Books.on(pool)
    pace = replace(AT_ONCE, timeout_s=2, scan_timeout_s=2)
    exporter = metrics(books, pace)
    assert (await shown(exporter))["purser_exporter_up"] == 1
    async with pool.acquire() as own, own.transaction():
        await own.execute("lock table balances in access exclusive mode")
        # The lock is held until this has answered.
        assert await shown(metrics(books, pace)) == {"purser_exporter_up": 0}
        found = await shown(exporter)
    assert found.pop("purser_exporter_up") == 0
    assert {name.partition(" ")[0] for name in found} == {
        "purser_ledger_drift_balances", "purser_budget_scopes_exhausting", "purser_ledger_scan_age_seconds",
    }  # fmt: skip
    assert min(found[f"purser_ledger_scan_age_seconds {scan}"] for scan in SCANS) >= 2


async def test_a_scan_that_takes_long_holds_up_neither_the_other_figures_nor_the_end_of_the_process(pool: Pool) -> None:
    books, reads, free, stop = Books.on(pool), list[asyncio.Task[Any] | None](), asyncio.Event(), asyncio.Event()

    class Slow(Exporter):
        async def drift(self, timeout_s: float) -> int:
            reads.append(asyncio.current_task())
            if len(reads) > 1:
                await free.wait()
            return len(reads)

    pace = replace(AT_ONCE, scan_wait_s=0.2)
    exporter = LedgerMetrics(Slow(pool, books.settings), Burn(pool, books.policies), pace)
    closing = asyncio.create_task(exporter.close_after(stop))
    while (await shown(exporter)).get("purser_ledger_drift_balances") != 1:
        pass
    while len(reads) < 2:
        assert (await shown(exporter))["purser_exporter_up"] == 1
    for _ in range(2):
        found = await shown(exporter)
        assert (found["purser_exporter_up"], found["purser_ledger_drift_balances"]) == (1, 1)
    assert len(reads) == 2, "one at a time"
    stop.set()
    await closing
    with pytest.raises(asyncio.CancelledError):
        await (reads[-1] or closing)
    await shown(exporter)
    assert len(reads) == 2


async def test_a_scan_is_made_again_after_ten_times_what_it_took(pool: Pool) -> None:
    books, reads, time = Books.on(pool), 0, 1_000.0

    class Slow(Exporter):
        async def drift(self, timeout_s: float) -> int:
            nonlocal reads, time
            reads += 1
            time += 20
            return 0

    exporter = LedgerMetrics(Slow(pool, books.settings), Burn(pool, books.policies), Pace(scan_wait_s=60))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("purser.gateway.metrics.ledger.monotonic", lambda: time)
        for after, expected in ((0, 1), (199, 1), (1, 2)):
            time += after
            found = await shown(exporter)
            assert reads == expected
    assert found["purser_ledger_scan_age_seconds drift"] == 20


async def test_a_failure_is_cached_like_figures(pool: Pool) -> None:
    books, reads = Books.on(pool), list[str]()

    class Counting(Exporter):
        async def figures(self, timeout_s: float):  # type: ignore[no-untyped-def]
            reads.append("figures")
            return await super().figures(timeout_s)

        async def drift(self, timeout_s: float) -> int:
            reads.append("drift")
            return await super().drift(timeout_s)

    exporter = Counting(pool, books.settings)
    pace = Pace(fresh_s=60, timeout_s=1, scan_wait_s=60, scan_timeout_s=1)
    failing = LedgerMetrics(exporter, Burn(pool, books.policies), pace)
    async with pool.acquire() as own, own.transaction():
        await own.execute("lock table balances in access exclusive mode")
        assert await shown(failing) == {"purser_exporter_up": 0}
    assert await shown(failing) == {"purser_exporter_up": 0}
    assert sorted(reads) == ["drift", "figures"]


async def test_a_driver_that_does_not_let_go_does_not_hold_up_a_scrape(pool: Pool) -> None:
    books, free = Books.on(pool), asyncio.Event()

    class Stuck(Exporter):
        async def figures(self, timeout_s: float) -> None:  # type: ignore[override]
            while not free.is_set():
                try:
                    await free.wait()
                except asyncio.CancelledError:
                    continue

    stuck = LedgerMetrics(Stuck(pool, books.settings), Burn(pool, books.policies), Pace(timeout_s=0.5))
    try:
        async with asyncio.timeout(30):
            assert (await shown(stuck))["purser_exporter_up"] == 0
            assert (await shown(stuck))["purser_exporter_up"] == 0
    finally:
        free.set()
        await asyncio.sleep(0)


@pytest.mark.parametrize("scrapers", [1, 5])
async def test_scrapes_close_together_read_once(pool: Pool, scrapers: int) -> None:
    books, reads = Books.on(pool), 0

    class Counting(Exporter):
        async def figures(self, timeout_s: float):  # type: ignore[no-untyped-def]
            nonlocal reads
            reads += 1
            return await super().figures(timeout_s)

    exporter = LedgerMetrics(Counting(pool, books.settings), Burn(pool, books.policies), Pace(fresh_s=60, timeout_s=60))
    for _ in range(3):
        await asyncio.gather(*(exporter.text() for _ in range(scrapers)))
    assert reads == 1
