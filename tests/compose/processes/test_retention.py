"""Rows past their retention period are deleted; others stay."""

from datetime import timedelta

import pytest
from structlog.testing import capture_logs

from purser.budget.postgres.audit.retention import LEAST, LedgerRetention, Outcome
from purser.budget.postgres.connections.pools import Pool
from purser.budget.postgres.events.events import EventKind, Events
from purser.budget.postgres.events.outbox import Outbox
from purser.budget.postgres.ledger.policies import Policies
from purser.budget.postgres.ledger.settings import LedgerSettings
from purser.compose.processes import retention as retention_module
from purser.compose.processes.retention import EVERY_S, MORE_S, LedgerSweep, Retention
from purser.gateway.access.sealing import Seal, new_key
from purser.gateway.approvals.links import ApprovalLinks
from purser.gateway.postgres.deliveries import Deliveries
from purser.gateway.postgres.webhooks import WebhookFields, Webhooks
from tests.budget.postgres.audit.history import START, close_all
from tests.support.actors import TESTER
from tests.support.events import put
from tests.support.ledger import TENANT, Books

OLD = "clock_timestamp() - interval '91 days'"


async def test_old_events_sent_messages_and_finished_deliveries_go_and_all_else_stays(pool: Pool) -> None:
    events, outbox = Events(pool), Outbox(pool)
    deliveries = Deliveries(pool, Policies(pool, LedgerSettings()), "http://here", ApprovalLinks(Seal(), "http://here"))
    hook, _ = await Webhooks(pool, Seal([new_key()])).create(
        "acme", WebhookFields(url="http://a/b", kinds=("task",)), by=TESTER
    )
    async with pool.acquire() as own:
        for age in (OLD, "now()"):
            await put(own, "acme", EventKind.TASK, None, {})
            await own.execute(f"update events set at = {age} where event_id = (select max(event_id) from events)")
            await own.execute(
                "insert into outbox (tenant, workflow_id, signal, payload, created_at, next_at, sent_at) values"
                f" ('acme', 'sent', 's', '{{}}', {age}, {age}, {age}),"
                f" ('acme', 'unsent', 's', '{{}}', {age}, {age}, null)"
            )
            await own.execute(
                "insert into deliveries (webhook_id, tenant, message_id, payload, state, created_at) values"
                f" ($1, 'acme', 'm', '{{}}', 'failed', {age}), ($1, 'acme', 'm', '{{}}', 'pending', {age})",
                hook.webhook_id,
            )
    await events.number()
    retention = Retention(events, outbox, deliveries, timedelta(days=90))
    assert await retention.sweep() == 3
    assert await retention.sweep() == 0
    assert await pool.fetchval("select count(*) from events") == 1
    left = await pool.fetch("select workflow_id, count(*) from outbox group by 1 order by 1")
    assert [tuple(row) for row in left] == [("sent", 1), ("unsent", 2)]
    left = await pool.fetch("select state, count(*) from deliveries group by 1 order by 1")
    assert [tuple(row) for row in left] == [("failed", 1), ("pending", 2)]


async def test_one_round_deletes_a_bounded_number_of_rows_and_the_next_ones_the_rest(
    pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention_module, "BATCHES", 1)
    deliveries = Deliveries(pool, Policies(pool, LedgerSettings()), "http://here", ApprovalLinks(Seal(), "http://here"))
    hook, _ = await Webhooks(pool, Seal([new_key()])).create(
        "acme", WebhookFields(url="http://a/b", kinds=("task",)), by=TESTER
    )
    await pool.execute(
        "insert into outbox (tenant, workflow_id, signal, payload, created_at, next_at, sent_at)"
        f" select 'acme', 'sent', 's', '{{}}', {OLD}, {OLD}, {OLD} from generate_series(1, 1001)"
    )
    await pool.execute(
        "insert into deliveries (webhook_id, tenant, message_id, payload, state, created_at)"
        f" select $1, 'acme', 'm', '{{}}', 'failed', {OLD} from generate_series(1, 1001)",
        hook.webhook_id,
    )
    retention = Retention(Events(pool), Outbox(pool), deliveries, timedelta(days=90))
    assert [await retention.sweep() for _ in range(3)] == [2_000, 2, 0]


async def test_ranges_of_the_ledger_go_one_after_the_other_and_then_rarely(pool: Pool) -> None:
    books = Books.on(pool)
    books.at(START)
    for number in range(2):
        await books.spend(f"k{number}", 10)
    await close_all(pool, 2)
    sweep = LedgerSweep(LedgerRetention(pool, LEAST, now=START + 63 * LEAST / 62))
    assert [(await sweep.step(), sweep.pause_s()) for _ in range(3)] == [
        (Outcome.CLOSED, MORE_S), (Outcome.CLOSED, MORE_S), (Outcome.NONE, EVERY_S),
    ]  # fmt: skip


async def test_the_log_says_each_time_that_a_range_is_altered_and_once_that_a_hold_is_open(pool: Pool) -> None:
    books = Books.on(pool)
    books.at(START)
    await books.hold("open", 10)
    await close_all(pool, 100)
    sweep = LedgerSweep(LedgerRetention(pool, LEAST, now=START + 63 * LEAST / 62))
    with capture_logs() as lines:
        assert [await sweep.step() for _ in range(3)] == [Outcome.HELD] * 3
        async with pool.acquire() as own, own.transaction():
            await own.execute("set local session_replication_role = replica")
            await own.execute("update journal set ref = 'somebody'")
        await books.ledger.release(TENANT, key="open")
        assert [await sweep.step() for _ in range(2)] == [Outcome.ALTERED] * 2
    assert [line["log_level"] for line in lines] == ["warning", "error", "error"]
