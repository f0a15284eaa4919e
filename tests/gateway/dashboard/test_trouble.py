"""Pages during failures: the ledger is down, or the gateway has stopped."""

import asyncio
import signal
import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import pytest
from playwright.async_api import Browser, Route, expect

from purser.compose.migrate import migrate
from purser.compose.stack.postgres import EmbeddedPostgres
from purser.gateway.access.roles import Role
from purser.gateway.errors import GatewayStopping
from purser.gateway.http.problems import problem_of
from tests.gateway.dashboard.approvals.test_page import asks, grants
from tests.gateway.dashboard.conftest import Tenant, running_stack
from tests.support.databases import fresh_database
from tests.support.ledger import until_waiting
from tests.support.servers.browser import Watch, in_both_themes, shot
from tests.support.servers.forked import Forks


@pytest.fixture
async def postgres(run_dir: Path) -> AsyncIterator[EmbeddedPostgres]:
    """A server that can be stopped without affecting other tests."""
    server = EmbeddedPostgres(run_dir / f"trouble-{uuid.uuid4().hex}")
    await server.start()
    yield server
    await asyncio.to_thread(server.stop)


async def test_ledger_outage_is_shown_nothing_is_decided_and_the_page_recovers_by_itself(
    forks: Forks, postgres: EmbeddedPostgres, temporal_address: str, run_dir: Path, browser: Browser
) -> None:
    dsn = await postgres.start()
    await migrate(dsn)
    async with running_stack(forks, dsn, temporal_address, run_dir) as stack:
        tenant = Tenant(stack, "acme", browser, Watch())
        async with tenant.open:
            await asks(tenant, "s1")
            page = await tenant.page(role=Role.APPROVER, name="anna")
            await expect(page.locator(".rows .request")).to_have_count(1)
            await asyncio.to_thread(postgres.stop)
            await page.get_by_role("button", name="Approve", exact=True).click()
            await expect(page.locator(".trouble")).to_contain_text("The ledger does not answer")
            await expect(page.locator(".toast")).to_contain_text("The ledger did not answer")
            await in_both_themes(page, "approvals-ledger-away")
            tenant.watch.complaints.clear()
            await postgres.start()
            await expect(page.locator(".trouble")).to_be_empty()
            assert await grants(tenant) == []
            await page.get_by_role("button", name="Approve", exact=True).click()
            await expect(page.locator(".outcome")).to_contain_text("You approved 876 tokens")
            assert await grants(tenant) == [876]
        assert tenant.watch.complaints == []


async def test_health_page_that_opens_while_the_ledger_goes_away_follows_audits_once_it_is_back(
    forks: Forks, postgres: EmbeddedPostgres, temporal_address: str, run_dir: Path, browser: Browser
) -> None:
    dsn = await postgres.start()
    await migrate(dsn)
    async with running_stack(forks, dsn, temporal_address, run_dir) as stack:
        tenant = Tenant(stack, "acme", browser, Watch())
        locker = await asyncpg.connect(dsn)
        async with tenant.open:
            await locker.execute("begin; lock table audit_result")
            page = await tenant.page("/health")
            await until_waiting(tenant.pool, 1)
            await asyncio.to_thread(postgres.stop)
            await expect(page.locator(".trouble")).to_contain_text("The ledger does not answer")
            await postgres.start()
            await expect(page.locator(".trouble")).to_be_empty()
            await page.get_by_role("button", name="Run the audit").click()
            await expect(page.get_by_text("everything agrees")).to_be_visible()
        locker.terminate()


async def test_gateway_stops_with_open_pages_and_they_show_it(
    forks: Forks, postgres_server: str, template: str, temporal_address: str, run_dir: Path, browser: Browser
) -> None:
    async with (
        fresh_database(postgres_server, template) as dsn,
        running_stack(forks, dsn, temporal_address, run_dir) as stack,
    ):
        tenant = Tenant(stack, "acme", browser, Watch())
        async with tenant.open:
            # One name has one live key: a second one would end the session of the first page.
            pages = [await tenant.page(path, name=name) for path, name in (("/", "anna"), ("/budgets", "bert"))]
            for page in pages:
                await expect(page.get_by_role("heading", level=1)).to_be_visible()
            tenant.watch.expects_outage = True
            assert await asyncio.to_thread(stack.started.end, signal.SIGINT) == 0
            for page in pages:
                await expect(page.locator("#popup")).to_be_visible()
            await shot(pages[0], "connection-lost")
        assert [line for line in stack.log.splitlines() if '"level": "error"' in line] == []


async def test_page_of_a_stopping_gateway_keeps_what_is_typed_until_a_gateway_answers(tenant: Tenant) -> None:
    page = await tenant.page("/tasks")
    stopping = problem_of(GatewayStopping())
    assert stopping is not None
    answer = stopping.response()

    async def answer_that_it_stops(route: Route) -> None:
        await route.fulfill(status=answer.status_code, headers=dict(answer.headers), body=bytes(answer.body))

    await page.route("**/_purser/pages/*/events*", answer_that_it_stops)
    tenant.watch.expects_outage = True
    await page.reload()
    field = page.get_by_role("searchbox").first
    await field.fill("half a name")
    await expect(page.locator("#popup")).to_contain_text("the gateway is stopping")
    await page.unroute("**/_purser/pages/*/events*")
    await expect(page.locator("#popup")).to_be_empty()
    await expect(field).to_have_value("half a name")
    assert {line.split()[0] for line in tenant.watch.complaints} == {"503"}
    tenant.watch.complaints.clear()
