"""Faults of the ledger and of receivers: their real metrics set off the alert of their runbook, while they last."""

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest

from purser.budget.errors import LedgerUnavailable
from purser.budget.postgres.connections.pools import Pool
from purser.budget.postgres.events.events import EventKind, Events
from purser.budget.postgres.reports.burn import Burn
from purser.budget.postgres.reports.exporter import Exporter
from purser.gateway.metrics.ledger import LedgerMetrics
from purser.gateway.webhooks import delivery
from tests.gateway.conftest import RunningGateway
from tests.gateway.metrics.test_ledger import AT_ONCE, metrics
from tests.support.ledger import Books
from tests.support.servers.alerts import Scrapes
from tests.support.servers.webhooks import Receiver, all_sent, failing, make, settled, store_on, task, tell


async def test_balances_that_were_changed_without_an_entry(pool: Pool, tmp_path: Path) -> None:
    ledger, scrapes = metrics(Books.on(pool)), Scrapes()
    await Books.on(pool).spend("k1", 100)
    for change in (0, 1, -1):
        await pool.execute("update balances set spent_tokens = spent_tokens + $1", change)
        scrapes.take(await ledger.text(), minutes=2)
    scrapes.check(tmp_path, "PurserLedgerDrift", firing=[2, 3], silent=[0, 1, 4, 5])


async def test_a_webhook_whose_receiver_is_gone_until_it_is_enabled_again(
    gateway: RunningGateway, admin: httpx.AsyncClient, receiver: Receiver, tmp_path: Path
) -> None:
    ledger, scrapes = metrics(Books.on(gateway.pool)), Scrapes()
    hook = await make(admin, receiver.url, "task")
    address = f"/v1/webhooks/{hook['webhook_id']}"
    scrapes.take(await ledger.text(), minutes=2)
    receiver.statuses = [410]
    await task(gateway.pool, "failed")
    await settled(admin, hook)
    async with asyncio.timeout(30):
        while (await admin.get(address)).json()["enabled"]:
            await asyncio.sleep(0.02)
    scrapes.take(await ledger.text(), minutes=7)
    await admin.patch(address, json={"enabled": True})
    scrapes.take(await ledger.text(), minutes=2)
    scrapes.check(tmp_path, "PurserWebhooksFailing", firing=[8], silent=[1, 6, 9, 10])


async def test_an_event_of_which_no_webhook_message_can_be_created(
    gateway: RunningGateway, admin: httpx.AsyncClient, receiver: Receiver, tmp_path: Path
) -> None:
    scrapes = Scrapes()
    await make(admin, receiver.url, "task")
    scrapes.take((await admin.get(gateway.metrics_url)).content, minutes=2)
    await tell(gateway.pool, EventKind.TASK, task_id="t1")  # without a status
    await all_sent(gateway.pool)
    scrapes.take((await admin.get(gateway.metrics_url)).content, minutes=30)
    scrapes.check(tmp_path, "PurserWebhooksFailing", firing=[8, 14], silent=[1, 5, 24])


async def test_a_webhook_that_is_disabled_while_a_delivery_fails(
    gateway: RunningGateway,
    admin: httpx.AsyncClient,
    receiver: Receiver,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setattr(delivery, "BACKOFF", (timedelta(hours=1),) * 7)
    ledger, scrapes = metrics(Books.on(gateway.pool)), Scrapes()
    hook = await make(admin, receiver.url, "task")
    receiver.statuses = [500]
    scrapes.take(await ledger.text(), minutes=2)
    await task(gateway.pool, "failed")
    await failing(admin, hook, "status")
    scrapes.take(await ledger.text(), minutes=7)
    await admin.patch(f"/v1/webhooks/{hook['webhook_id']}", json={"enabled": False})
    scrapes.take(await ledger.text(), minutes=2)
    scrapes.check(tmp_path, "PurserWebhooksFailing", firing=[8], silent=[1, 6, 9, 10])


async def test_events_that_no_gateway_looks_at_for_webhooks(pool: Pool, tmp_path: Path) -> None:
    ledger, scrapes = metrics(Books.on(pool)), Scrapes()
    scrapes.take(await ledger.text(), minutes=2)
    await pool.execute("select put_event('t', 'task', null, '{}', now() - interval '5 minutes')")
    await Events(pool).number()
    scrapes.take(await ledger.text(), minutes=3)
    await store_on(pool).make(lambda: None)
    scrapes.take(await ledger.text(), minutes=2)
    scrapes.check(tmp_path, "PurserWebhooksBehind", firing=[3, 4], silent=[1, 2, 5])


async def test_a_policy_that_is_only_tried_and_would_refuse(pool: Pool, tmp_path: Path) -> None:
    books, scrapes = Books.on(pool), Scrapes()
    ledger = metrics(books)
    await books.budget("session:s1", limit_tokens=100, mode="hard", shadow=True)
    for minute in range(7):
        scrapes.take(await ledger.text())
        await books.hold(f"k{minute}", 101)
    assert scrapes.shown('purser_shadow_calls_total{kind="session",outcome="refuse"}') == 6
    last = scrapes.minute
    scrapes.rest(70)
    scrapes.check(tmp_path, "PurserShadowRefusing", firing=[last], silent=[4, scrapes.minute])


@pytest.mark.parametrize("alert", ["PurserBudgetAbove100", "PurserBudgetExhaustsIn1h"])
async def test_a_policy_that_is_only_tried_until_it_applies(pool: Pool, alert: str, tmp_path: Path) -> None:
    books, scrapes = Books.on(pool), Scrapes()
    ledger, now = metrics(books), datetime.now(UTC)
    limit = 100 if alert == "PurserBudgetAbove100" else 130
    await books.budget("tenant:acme", limit_tokens=limit, mode="hard", shadow=True)
    for minutes in (50, 30):
        books.at(now - timedelta(minutes=minutes))
        await books.spend(f"k{minutes}", 60, 0, "tenant:acme", "session:s1")
        await Burn(pool, books.policies).sample()
    books.at(None)
    scrapes.take(await ledger.text(), minutes=4)
    await books.budget("tenant:acme", shadow=False)
    scrapes.take(await ledger.text(), minutes=4)
    scrapes.check(tmp_path, alert, firing=[7], silent=[2, 3])


async def test_a_scan_of_the_balances_that_no_longer_succeeds(pool: Pool, tmp_path: Path) -> None:
    class Failing(Exporter):
        async def drift(self, timeout_s: float) -> int:
            raise LedgerUnavailable("it takes too long")

    books, scrapes = Books.on(pool), Scrapes()
    failing = LedgerMetrics(Failing(pool, books.settings), Burn(pool, books.policies), AT_ONCE)
    scrapes.take(await metrics(books).text(), minutes=2)
    scrapes.take(await failing.text(), minutes=14)
    scrapes.take(await metrics(books).text(), minutes=2)
    scrapes.check(tmp_path, "PurserLedgerScanOld", firing=[13], silent=[1, 16])
    scrapes.check(tmp_path, "PurserMetricsMissing", firing=[], silent=[1, 13, 16])
