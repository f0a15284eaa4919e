"""Services that only pages use: ledger health, audits on demand, request statistics."""

import asyncio
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Self

import pytest
from prometheus_client import CollectorRegistry

from purser.budget.postgres.connections.pools import Pool
from purser.gateway.metrics.counters import answered, quantile
from purser.gateway.metrics.requests import Metrics
from purser.gateway.postgres.ledger_health import Faults, LedgerHealth
from purser.gateway.reports.audits import Audits
from tests.support.ledger import TENANT, Books
from tests.support.world import eventually

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.fixture
async def books(pool: Pool) -> Books:
    """One hold settled, one open, one whose attempt never reported before its lease ended."""
    books = Books.on(pool)
    books.at(NOW)
    await books.spend("settled", 100)
    await books.hold("open", 300)
    lost = await books.hold("lost", 50)
    await books.ledger.start_attempt(TENANT, lost)
    await pool.execute("update holds set expires_at = $1 where key = 'lost'", NOW - timedelta(hours=1))
    await books.ledger.sweep()
    return books


async def test_open_holds_are_counted_and_listed_oldest_first(books: Books) -> None:
    health = LedgerHealth(books.pool)
    found = await health.open(TENANT)
    assert (found.holds, found.tokens, found.oldest) == (1, 300, NOW)
    [oldest] = await health.oldest(TENANT)
    assert (oldest.path, oldest.tokens) == (("session:s1",), 300)


async def test_faults_are_counted_by_hold_since_a_time(books: Books) -> None:
    health = LedgerHealth(books.pool)
    assert await health.faults(TENANT, NOW - timedelta(days=1)) == Faults(expired=1, late=0, presumed=1)
    assert await health.faults(TENANT, NOW + timedelta(days=1)) == Faults(0, 0, 0)


async def test_attempts_of_a_hold_are_visible_to_its_tenant_only(books: Books) -> None:
    health = LedgerHealth(books.pool)
    hold_id = str(await books.pool.fetchval("select hold_id from holds where key = 'settled'"))
    [attempt] = await health.attempts(TENANT, hold_id)
    assert (attempt.state, attempt.tokens, attempt.late) == ("reported", 100, False)
    assert await health.attempts("other", hold_id) == []
    assert await health.attempts(TENANT, "no number") == []


async def test_another_tenant_sees_no_holds_and_no_faults(books: Books) -> None:
    health = LedgerHealth(books.pool)
    assert (await health.open("other")).holds == 0
    assert await health.oldest("other") == []
    assert await health.faults("other", NOW - timedelta(days=1)) == Faults(0, 0, 0)


async def test_what_waits_to_be_sent_is_counted_with_the_oldest(books: Books) -> None:
    health = LedgerHealth(books.pool)
    assert (await health.outbox(TENANT)).waiting == 0
    await books.pool.execute(
        "insert into outbox (tenant, workflow_id, signal, payload, created_at, next_at, tries)"
        " values ($3, 'task-' || $3 || '/t', 's', '{}', $1, $1, 3), ($3, 'task-' || $3 || '/t', 's', '{}', $2, $2, 0)",
        NOW, NOW + timedelta(seconds=1), TENANT,
    )  # fmt: skip
    waiting = await health.outbox(TENANT)
    assert (waiting.waiting, waiting.oldest, waiting.tries) == (2, NOW, 3)
    assert (await health.outbox("other")).waiting == 0, "of another tenant nothing is shown"
    assert (await health.deliveries(TENANT)).waiting == 0


async def test_one_audit_runs_at_a_time_and_the_last_result_stays(books: Books) -> None:
    audits = Audits(books.pool)
    audits.start("ada")
    running = audits.progress
    audits.start("ben")
    assert audits.progress is running
    await eventually(lambda: asyncio.sleep(0, audits.progress is None))
    assert audits.last is not None
    assert (audits.last.by, audits.last.error, audits.last.differences) == ("ada", "", 0)
    await books.pool.execute("update balances set held_tokens = held_tokens + 1")
    audits.start("ben")
    await eventually(lambda: asyncio.sleep(0, audits.progress is None))
    assert audits.last.by == "ben"
    assert (audits.last.differences, len(audits.last.examples)) == (1, 1)
    another = Audits(books.pool)
    await another.refresh()
    assert another.last == audits.last, "every gateway shows it"


async def test_a_wrong_clock_of_one_gateway_delays_no_audit_and_hides_no_result(
    books: Books, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Ahead(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Self:
            return super().now(tz) + timedelta(days=30)

    right = Audits(books.pool)
    with monkeypatch.context() as patched:
        patched.setattr("purser.gateway.reports.audits.datetime", Ahead)
        right.start("ada")
        await eventually(lambda: asyncio.sleep(0, right.progress is None))
    now = await books.pool.fetchval("select clock_timestamp()")
    assert right.last is not None
    assert now - timedelta(minutes=1) < right.last.ended_at <= now
    await books.pool.execute("update audit_result set ended_at = ended_at + interval '30 days'")  # an older release
    await right.refresh()
    another = Audits(books.pool)
    await another.start_due(timedelta(days=1))
    await eventually(lambda: asyncio.sleep(0, another.progress is None))
    await right.refresh()
    assert right.last == another.last


async def test_an_audit_that_fails_says_so_and_the_next_one_may_run(books: Books) -> None:
    await books.pool.execute("alter table attempts rename to away")
    audits = Audits(books.pool)
    audits.start("ada")
    await eventually(lambda: asyncio.sleep(0, audits.progress is None))
    assert audits.last is not None
    assert (audits.last.error, dict(audits.last.checked)) == ("UndefinedTableError", {})
    await books.pool.execute("alter table away rename to attempts")
    audits.start("ada")
    await eventually(lambda: asyncio.sleep(0, audits.progress is None))
    assert audits.last.error == ""


async def test_progress_of_an_audit_reaches_all_watchers(books: Books) -> None:
    audits = Audits(books.pool)
    seen: list[str] = []

    async def watch() -> None:
        while audits.last is None:
            changed = audits.changed
            seen.append(audits.progress.check if audits.progress else "")
            await changed.wait()

    watching = asyncio.create_task(watch())
    await asyncio.sleep(0)
    audits.start("ada")
    await asyncio.wait_for(watching, 20)
    assert {"balances", "charges"} <= set(seen)


def test_requests_are_added_up_by_class_with_quantiles() -> None:
    metrics = Metrics()
    for status, seconds in ((200, 0.004), (201, 0.004), (404, 0.2), (503, 20.0), (0, None)):
        metrics.answered("GET", "/v1/x", status, seconds)
    found = answered(metrics.registry)
    assert (found.requests, dict(found.by_class)) == (5, {"2xx": 2, "4xx": 1, "5xx": 1, "gone": 1})
    assert found.p50_s is not None
    assert found.p50_s <= 0.005
    assert found.p95_s is None  # slower than the last step
    assert answered(CollectorRegistry()).p50_s is None


@pytest.mark.parametrize(("share", "value"), [(0.25, 0.5), (0.5, 1.0), (0.75, 3.0)])
def test_quantiles_lie_on_straight_lines_between_the_steps(share: float, value: float) -> None:
    assert quantile([(1.0, 10.0), (5.0, 20.0), (float("inf"), 20.0)], share) == value
