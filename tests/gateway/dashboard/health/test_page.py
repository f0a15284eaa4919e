"""The page of health, with and without failures."""

import re
import uuid
from datetime import timedelta

from playwright.async_api import expect

from purser.budget.gate import Amount
from purser.budget.holds import HoldRequest
from purser.budget.scopes import Path
from purser.gateway.access.roles import Role
from tests.gateway.dashboard.conftest import Tenant
from tests.support.servers.browser import NARROW, check_accessibility, in_both_themes, shot


async def hold(tenant: Tenant, session_id: str = "s1", *, tokens: int = 1_000) -> str:
    """Opens a hold; returns its id."""
    ask = HoldRequest(uuid.uuid4().hex, Path.parse([f"session:{session_id}"]), Amount(tokens), model="gpt-4o")
    answer = await tenant.ledger.hold(tenant.name, ask)
    assert answer.hold_id is not None
    return answer.hold_id


async def test_every_dependency_is_listed_with_whether_it_answers(tenant: Tenant) -> None:
    page = await tenant.page("/health")
    ready = page.locator("section", has=page.get_by_role("heading", name="Readiness"))
    for part in ("postgres", "schema", "temporal"):
        await expect(ready.locator("li", has_text=part)).to_contain_text("answers")
    await expect(ready.get_by_text("ready", exact=True)).to_be_visible()
    workers = page.get_by_role("region", name="Workers")
    await expect(workers.locator("tbody tr", has_text="workflows")).not_to_have_count(0)
    await expect(workers.locator("tbody tr", has_text="activities")).not_to_have_count(0)
    await expect(page.get_by_text("as needed")).to_be_visible()
    await in_both_themes(page, "health")
    await shot(page, "health-whole", full=True)


async def test_open_holds_are_listed_with_their_age_and_what_went_wrong_leads_to_the_ledger(tenant: Tenant) -> None:
    first, lost = await hold(tenant), await hold(tenant, "s2")
    await tenant.ledger.start_attempt(tenant.name, lost)
    await tenant.pool.execute("update holds set expires_at = now() - interval '1 hour' where hold_id = $1", int(lost))
    await tenant.pool.execute(
        "update holds set created_at = now() - $2::interval where hold_id = $1", int(first), timedelta(minutes=20)
    )
    page = await tenant.page("/health")
    oldest = page.get_by_role("region", name="Oldest open holds").locator("tbody tr")
    await expect(oldest.first).to_contain_text(f"#{first}")
    await expect(oldest.first).to_contain_text("20 min")
    tile = page.locator(".tile", has_text="Expired, 24 h")
    await expect(tile).to_contain_text("1")  # the sweeper ends it, and the page is updated
    await expect(page.locator(".tile", has_text="Presumed, 24 h")).to_contain_text("1")
    await expect(page.locator(".tile", has_text=re.compile("^Open"))).to_contain_text("1")
    await shot(page, "health-holds")
    await tile.get_by_role("link").click()
    await expect(page).to_have_url(re.compile(r"/ledger\?kind=expire"))
    await expect(page.get_by_role("region", name="Entries").locator("tbody tr")).to_have_count(1)


async def test_an_audit_runs_in_the_background_and_details_only_differences_of_the_own_tenant(
    tenant: Tenant,
) -> None:
    await hold(tenant, tokens=321)
    stranger = Tenant(tenant.stack, f"{tenant.name}-other", tenant.browser, tenant.watch, tenant.open)
    await hold(stranger, "theirs")
    page = await tenant.page("/health", Role.APPROVER, "olga")
    watching = await tenant.page("/health", Role.VIEWER, "vera", size=NARROW)
    await page.get_by_role("button", name="Run the audit").click()
    await expect(page.get_by_text("everything agrees")).to_be_visible()
    await expect(watching.get_by_text("everything agrees")).to_be_visible()
    await expect(watching.get_by_text("by olga")).to_have_count(0)
    await expect(watching.get_by_role("button", name="Run the audit")).to_have_count(0)
    assert await watching.evaluate("document.documentElement.scrollWidth") <= NARROW[0]
    await shot(watching, "health-narrow")
    whose = "where scope_id in (select scope_id from scopes where tenant = any($1))"
    change = f"update balances set spent_tokens = spent_tokens + 7 {whose}"
    tenants = [tenant.name, stranger.name]
    await tenant.pool.execute(change, tenants)
    try:
        await page.get_by_role("button", name="Run the audit").click()
        differences = page.get_by_role("region", name="Differences")
        await expect(differences.locator("tbody tr")).to_have_count(2)
        await expect(differences).to_contain_text("session:s1")
        await expect(differences).to_contain_text("“purser audit” shows them")
        await expect(differences).not_to_contain_text("theirs")
        await expect(differences).not_to_contain_text(stranger.name)
        await check_accessibility(page)
        await shot(page, "health-differences")
    finally:
        await tenant.pool.execute(change.replace("+ 7", "- 7"), tenants)
    await page.get_by_role("button", name="Run the audit").click()
    await expect(page.get_by_text("everything agrees")).to_be_visible()


async def test_settings_are_shown_to_admins_without_secrets(tenant: Tenant) -> None:
    page = await tenant.page("/health")
    settings = page.get_by_role("region", name="Settings").first
    await expect(settings).to_contain_text("task_queue")
    await expect(settings.locator("tr", has_text="dsn")).to_contain_text("environment")
    await expect(settings.locator("tr", has_text="dsn")).not_to_contain_text("postgres:@")
    await page.get_by_text("settings with default values").click()
    await expect(page.locator("tr", has_text="metrics_token")).to_contain_text("not set")
    viewer = await tenant.page("/health", Role.VIEWER, "vera")
    await expect(viewer.get_by_role("heading", name="This gateway")).to_be_visible()
    await expect(viewer.get_by_role("heading", name="Settings")).to_have_count(0)


async def test_holds_of_other_tenants_are_neither_listed_nor_counted(tenant: Tenant) -> None:
    await hold(tenant)
    stranger = Tenant(tenant.stack, f"{tenant.name}-other", tenant.browser, tenant.watch, tenant.open)
    page = await stranger.page("/health")
    await expect(page.get_by_text("No hold is open.")).to_be_visible()
