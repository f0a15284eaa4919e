"""The overview over HTTP and in a browser."""

from contextlib import aclosing
from datetime import UTC, datetime, timedelta

from playwright.async_api import expect

from purser.budget.gate import Amount
from purser.budget.policies.fields import Mode
from purser.budget.policies.policy import PolicyPatch
from purser.budget.postgres.connections.pools import Connection
from purser.budget.postgres.reports.usage import UsageReports
from purser.budget.reports.usage import By
from purser.budget.scopes import Kind, Scope
from purser.gateway.access.roles import Role
from purser.gateway.dashboard.overview.page import ROWS
from purser.gateway.dashboard.overview.spending import PERIODS, Spending
from tests.gateway.conftest import RunningGateway
from tests.gateway.dashboard.acting import open_page
from tests.gateway.dashboard.approvals.test_page import asks
from tests.gateway.dashboard.conftest import Tenant
from tests.support.actors import TESTER
from tests.support.ledger import TENANT, Books, meet, report, request
from tests.support.servers.browser import NARROW, in_both_themes, shot


async def spend(tenant: Tenant, session: str, model: str, tokens: int) -> None:
    """Holds and settles tokens of a model in a session."""
    client = await tenant.client(name="backend")
    path = [f"tenant:{tenant.name}", f"user:u-{session}", f"session:{session}"]
    body = {"key": tenant.named("k"), "path": path, "tokens": tokens, "nano_usd": tokens * 2_000, "model": model}
    held = (await client.post("/v1/holds", json=body)).json()
    assert "hold_id" in held, held
    used = {"attempt": 1, "usage": {"total": tokens}, "nano_usd": tokens * 2_000}
    assert (await client.post(f"/v1/holds/{held['hold_id']}/settle", json=used)).is_success


async def test_spending_is_that_of_the_usage_reports(gateway: RunningGateway) -> None:
    agent = await gateway.client(Role.AGENT, name="b")
    for number, tokens in enumerate((300, 40)):
        body = {"key": f"k{number}", "path": ["session:s1"], "tokens": 500, "model": f"m{number}"}
        hold = (await agent.post("/v1/holds", json=body)).json()["hold_id"]
        used = {"attempt": 1, "usage": {"total": tokens}, "nano_usd": tokens}
        assert (await agent.post(f"/v1/holds/{hold}/settle", json=used)).is_success
    spending = Spending(UsageReports(gateway.pool), "default", By.MODEL, PERIODS[0])
    now = datetime.now(UTC)
    found = {line.name: line.total for line in await spending.lines(now)}
    assert found == {"m0": Amount(300, 300), "m1": Amount(40, 40)}
    assert {line.name: line.total for line in await spending.lines(now)} == found, "ended bars are read once"


async def test_an_entry_that_commits_after_the_end_of_its_bar_is_shown(gateway: RunningGateway) -> None:
    books = Books.on(gateway.pool)
    hour = datetime(2026, 11, 20, 13, tzinfo=UTC)
    books.at(hour - timedelta(seconds=1))
    hold_id = await books.hold("k1", 100)
    spending = Spending(UsageReports(gateway.pool), TENANT, By.SESSION, PERIODS[0])
    seen = []

    async def read(_: Connection) -> None:
        seen.append(await spending.lines(hour + timedelta(seconds=1)))

    lock = "select from balances for update"
    await meet(gateway.pool, lambda own: own.execute(lock), lambda: books.settle(hold_id, 70), read)
    assert seen == [[]], "it has not committed yet"
    assert [line.total for line in await spending.lines(hour + timedelta(minutes=1))] == [Amount(70)]


async def test_budgets_that_are_used_now_are_shown_before_those_of_past_windows(gateway: RunningGateway) -> None:
    books, now = Books.on(gateway.pool), datetime.now(UTC)
    daily = PolicyPatch(limit_tokens=100, window="day", mode=Mode.SOFT)
    for name, at, tokens in (("now", now, 95), *((f"past{n}", now - timedelta(days=1), 100) for n in range(ROWS))):
        books.at(at)
        await books.policies.set("default", Scope(Kind.SESSION, name), daily, by=TESTER)
        held = await books.ledger.hold("default", request(name, tokens, 0, f"session:{name}"))
        await books.ledger.settle("default", str(held.hold_id), 1, report(tokens))
    page = await open_page(gateway, "/overview")
    async with aclosing(page.updates(0)) as updates:
        markup = (data["markup"] async for kind, data in updates if kind == "region")
        assert "session:now" in await anext(shown async for shown in markup if "session:past" in shown)


async def test_unknown_parameters_values_are_ignored(gateway: RunningGateway) -> None:
    page = await open_page(gateway, "/overview?period=1y&by=day", Role.VIEWER, "vic")
    assert page.html.count('aria-current="true"') == 2
    assert "Nothing waits for a person." in page.html


async def test_the_page_in_a_browser(tenant: Tenant) -> None:
    await tenant.budget("session:s1", limit_tokens=10_000)
    await tenant.budget("session:s2", limit_nano_usd=100_000_000_000)
    for session, model, tokens in (("s1", "gpt-4o", 9_000), ("s2", "claude-opus", 3_000), ("s2", "gpt-4o", 800)):
        await spend(tenant, session, model, tokens)
    await asks(tenant, "s3")
    page = await tenant.page("/overview")
    await expect(page.get_by_role("region", name="Spending by model")).to_contain_text("gpt-4o")
    await expect(page.locator(".tiles")).to_contain_text("13,700")
    await expect(page.locator(".chart svg").first).to_be_visible()
    budgets = page.get_by_role("region", name="Budgets that are used most")
    await expect(budgets.locator("tbody tr").first).to_contain_text("s1")
    await expect(page.get_by_role("region", name="Pending approvals")).to_contain_text("s3")
    await in_both_themes(page, "overview")
    await page.get_by_role("link", name="by user").click()
    await expect(page.get_by_role("region", name="Spending by user")).to_contain_text("u-s1")
    await page.set_viewport_size({"width": NARROW[0], "height": NARROW[1]})
    await shot(page, "overview-narrow", full=True)
