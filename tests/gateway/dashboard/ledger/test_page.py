"""The page of the ledger: filters, holds, usage and export."""

import csv
import io
import re

import httpx
from playwright.async_api import Locator, Page, expect

from purser.gateway.access.roles import Role
from tests.gateway.dashboard.conftest import Tenant
from tests.support.servers.browser import NARROW, check_accessibility, in_both_themes, shot

SESSION, TASK, AGENT = "session:s1", "task:t1", "agent:t1/writer"


async def spend(client: httpx.AsyncClient, key: str, path: list[str], tokens: int, model: str = "gpt-4o") -> str:
    """Holds tokens and settles three quarters of them; returns the hold's id."""
    ask = {"key": key, "path": path, "tokens": tokens, "model": model}
    hold_id: str = (await client.post("/v1/holds", json=ask)).json()["hold_id"]
    usage = {"input": tokens // 2, "output": tokens // 4}
    await client.post(f"/v1/holds/{hold_id}/attempts", json={"attempt": 1})
    report = {"attempt": 1, "usage": usage, "nano_usd": tokens * 1_000}
    assert (await client.post(f"/v1/holds/{hold_id}/settle", json=report)).is_success
    return hold_id


def entries(page: Page) -> Locator:
    """The rows of the table of entries."""
    return page.get_by_role("region", name="Entries").locator("tbody tr")


async def test_entries_are_narrowed_by_scope_and_kind_and_a_hold_is_opened_in_place(tenant: Tenant) -> None:
    client = await tenant.client()
    hold_id = await spend(client, "k1", [SESSION, TASK, AGENT], 4_000)
    await spend(client, "k2", ["session:s2"], 1_000, "claude-sonnet-4-5")
    page = await tenant.page("/ledger")
    await expect(entries(page)).to_have_count(12)
    await page.get_by_label("Scope").fill(AGENT)
    await page.get_by_label("Kind").select_option("settle")
    await page.get_by_role("button", name="Show").click()
    await expect(entries(page)).to_have_count(1)
    await expect(entries(page)).to_contain_text("+3,000")
    await expect(entries(page)).to_contain_text("−4,000")
    await page.get_by_role("button", name=f"Hold {hold_id}").click()
    hold = page.get_by_role("region", name=f"Hold {hold_id}")
    await expect(hold).to_contain_text("settled")
    await expect(hold.get_by_role("region", name="Attempts")).to_contain_text("input 2,000, output 1,000")
    await expect(hold.get_by_role("link", name="t1", exact=True)).to_have_attribute("href", "/tasks/t1")
    await in_both_themes(page, "ledger")
    await page.get_by_role("button", name=f"Hold {hold_id}").click()
    await expect(hold).to_have_count(0)
    await page.get_by_role("link", name="Clear").click()
    await expect(entries(page)).to_have_count(12)


async def test_shown_entries_are_exported_as_csv(tenant: Tenant) -> None:
    client = await tenant.client()
    await spend(client, "k1", [SESSION, TASK, AGENT], 4_000)
    await spend(client, "k2", ["session:s2"], 1_000)
    page = await tenant.page("/ledger?task=t1")
    await expect(entries(page)).to_have_count(8)
    async with page.expect_download() as downloading:
        await page.get_by_role("link", name="Export CSV").click()
    download = await downloading.value
    assert download.suggested_filename == "ledger.csv"
    rows = list(csv.DictReader(io.StringIO((await download.path()).read_text())))
    assert [row["scope"] for row in rows] == [await _scope(row) for row in await entries(page).all()]


async def _scope(row: Locator) -> str:
    found = await row.locator(".scope").first.get_attribute("title")
    assert found is not None
    return found


async def test_usage_is_added_up_by_session_task_agent_and_model(tenant: Tenant) -> None:
    client = await tenant.client()
    await spend(client, "k1", [SESSION, TASK, AGENT], 4_000)
    await spend(client, "k2", ["session:s2"], 1_000, "claude-sonnet-4-5")
    page = await tenant.page("/ledger")
    for by, name in (("model", "claude-sonnet-4-5"), ("session", "s1"), ("task", "t1"), ("agent", "t1/writer")):
        await page.get_by_role("navigation", name="Usage by").get_by_role("link", name=f"by {by}").click()
        usage = page.get_by_role("region", name=f"Usage by {by}")
        await expect(usage).to_contain_text(name)
        await expect(usage).to_contain_text("3,000")
        await expect(page.get_by_role("img", name=re.compile(f"Tokens by {by} .*3,000"))).to_be_visible()


async def test_thousands_of_entries_come_in_pages(tenant: Tenant) -> None:
    client = await tenant.client()
    for number in range(15):
        await spend(client, f"k{number}", [SESSION], 100)
    page = await tenant.page("/ledger", size=NARROW)
    await expect(entries(page)).to_have_count(50)
    await page.get_by_role("link", name="Older").click()
    await expect(entries(page)).to_have_count(10)
    await page.get_by_role("link", name="Newest").click()
    await expect(entries(page)).to_have_count(50)
    assert await page.evaluate("document.documentElement.scrollWidth") <= NARROW[0]
    await check_accessibility(page)
    await shot(page, "ledger-narrow")


async def test_an_invalid_filter_is_reported_and_ignored(tenant: Tenant) -> None:
    await spend(await tenant.client(), "k1", [SESSION], 100)
    page = await tenant.page("/ledger?scope=nonsense&from=yesterday&kind=dream&cursor=x")
    fault = page.get_by_role("alert")
    await expect(fault).to_contain_text("nonsense")
    await expect(fault).to_contain_text("The time “from” is not valid")
    await expect(entries(page)).to_have_count(4)
    await page.goto("/ledger?scope=session:nobody")
    await expect(page.get_by_text("No entry matches these filters")).to_be_visible()
    await check_accessibility(page)


async def test_nothing_of_another_tenant_is_shown_or_opened(tenant: Tenant) -> None:
    hold_id = await spend(await tenant.client(), "k1", [SESSION], 100)
    stranger = Tenant(tenant.stack, f"{tenant.name}-other", tenant.browser, tenant.watch, tenant.open)
    await spend(await stranger.client(), "k1", ["session:mine"], 100)
    page = await stranger.page(f"/ledger?scope={SESSION}")
    await expect(page.get_by_text("No entry matches these filters")).to_be_visible()
    await page.goto("/ledger")
    await expect(entries(page)).to_have_count(4)
    # A manipulated page: the button of an entry with the number of another tenant's hold.
    button = page.get_by_role("button", name=re.compile("^Hold")).first
    await button.evaluate("(button, hold) => { button.dataset.hold = hold; }", hold_id)
    await button.click()
    await expect(page.get_by_text("This hold no longer exists.")).to_be_visible()
    await expect(page.locator(".hold")).to_have_count(0)


async def test_an_empty_ledger_says_so(tenant: Tenant) -> None:
    page = await tenant.page("/ledger", Role.VIEWER, "vera")
    await expect(page.get_by_text("The ledger is empty")).to_be_visible()
    await expect(page.get_by_text("Nothing was charged in this time.")).to_be_visible()
