"""Filters of the ledger apply to the chart, its table and the entries, with times in the reader's time zone."""

import re
from datetime import UTC, datetime
from typing import Any

from playwright.async_api import Page, expect

from purser.gateway.access.roles import Role
from purser.gateway.dashboard.ledger.filters import Wanted
from tests.gateway.conftest import RunningGateway
from tests.gateway.dashboard.acting import open_page, until_shown
from tests.gateway.dashboard.conftest import Tenant


async def charged(tenant: Tenant, key: str, session: str, **settled: Any) -> None:
    """A hold of 900 tokens that is settled, or released after its request left."""
    client = await tenant.client()
    body = {"key": key, "path": [f"session:{session}", f"task:t-{session}"], "tokens": 900}
    hold = (await client.post("/v1/holds", json=body)).json()["hold_id"]
    if settled:
        done = await client.post(f"/v1/holds/{hold}/settle", json={"attempt": 1, "nano_usd": 0} | settled)
    else:
        await client.post(f"/v1/holds/{hold}/attempts", json={"attempt": 1})
        done = await client.post(f"/v1/holds/{hold}/release")
    assert done.is_success, done.text


async def bars(page: Page) -> dict[str, Any]:
    """Tokens in the usage chart, by the name of the segment."""
    drawn: dict[str, Any] = await page.evaluate(
        """() => { const chart = document.querySelector('.chart').chart.getOption();
             return Object.fromEntries(chart.series.map(one => [one.name, one.data])); }"""
    )
    return drawn


async def test_bars_of_usage_add_up_to_the_table(tenant: Tenant) -> None:
    await charged(tenant, "k1", "s1", usage={"input": 300, "output": 40})
    await charged(tenant, "k2", "s1", usage={"total": 500})
    await charged(tenant, "k3", "s1")
    page = await tenant.page("/ledger?by=session")
    await expect(page.get_by_role("region", name="Usage by session")).to_contain_text("1,740")
    await expect(page.locator(".chart svg text").first).to_be_visible()
    assert await bars(page) == {"input": [300], "output": [40], "unsplit": [500], "presumed": [900]}


async def test_scope_narrows_the_chart_as_it_does_the_entries(tenant: Tenant) -> None:
    await charged(tenant, "k1", "s1", usage={"input": 300, "output": 40})
    await charged(tenant, "k2", "s2", usage={"input": 70, "output": 1})
    page = await tenant.page("/ledger?by=session&scope=task:t-s2")
    usage = page.get_by_role("region", name="Usage by session")
    await expect(usage.locator("tbody tr")).to_have_count(1)
    await expect(usage).to_contain_text("s2")
    await expect(page.get_by_role("heading", name=re.compile("Usage of task:t-s2"))).to_be_visible()
    await expect(page.locator(".chart svg text").first).to_be_visible()
    assert (await bars(page))["input"] == [70]
    await page.goto("/ledger?by=session&scope=session:s1&task=t-s2")
    await expect(page.get_by_text("Nothing was charged in this time.")).to_be_visible()


async def test_task_and_times_narrow_entries_and_usage(tenant: Tenant) -> None:
    for session in ("s1", "s2"):
        await charged(tenant, f"k-{session}", session, usage={"input": 300, "output": 40})
    page = await tenant.page("/ledger")
    rows = page.get_by_role("region", name="Entries").locator("tbody tr")
    await expect(rows).to_have_count(12)
    await page.goto("/ledger?task=t-s2")
    await expect(rows).to_have_count(6)
    after = await tenant.pool.fetchval("select clock_timestamp()")
    for times in ("to=2000-02-01T00:00:00Z", f"from={after:%Y-%m-%dT%H:%M:%S.%fZ}"):
        await page.goto(f"/ledger?{times}")
        await expect(page.get_by_text("No entry matches these filters")).to_be_visible()
        await expect(page.get_by_text("Nothing was charged in this time.")).to_be_visible()


def test_usage_by_day_begins_with_a_whole_day_as_in_the_api() -> None:
    now = datetime(2026, 11, 28, 3, 30, tzinfo=UTC)

    def begin(**given: str) -> str:
        wanted = Wanted.read(**dict.fromkeys(("scope", "kind", "task", "since", "until", "cursor", "by"), "") | given)
        return f"{wanted.span(now)[0]:%Y-%m-%dT%H:%M}"

    assert (begin(by="day"), begin(by="model")) == ("2026-10-29T00:00", "2026-10-29T03:30")
    assert begin(by="day", since="2026-11-02T05:00") == "2026-11-02T05:00"
    assert begin(by="day", until="2026-11-10T12:00") == "2026-10-11T00:00"


async def test_usage_until_the_first_days_that_there_are_is_empty(gateway: RunningGateway) -> None:
    page, text = await open_page(gateway, "/ledger?to=0001-01-05"), "Nothing was charged in this time."
    assert text in page.html or await until_shown(page, text)


async def test_invalid_scope_stays_in_its_field_next_to_the_error(tenant: Tenant) -> None:
    page = await tenant.page("/ledger")
    await page.get_by_label("Scope").fill("ana")
    await page.get_by_role("button", name="Show").click()
    await expect(page.get_by_role("alert")).to_contain_text("ana")
    await expect(page.get_by_label("Scope")).to_have_value("ana")


async def test_times_of_the_filter_are_in_the_time_zone_of_the_table(tenant: Tenant) -> None:
    await charged(tenant, "k1", "s1", usage={"input": 300, "output": 40})
    context = await tenant.browser.new_context(base_url=tenant.stack.url, timezone_id="Asia/Kolkata")
    tenant.open.push_async_callback(context.close)
    await context.request.post("/sign-in", data={"key": await tenant.key(Role.ADMIN, "ada")})
    page = await context.new_page()
    await page.goto("/ledger?from=2026-01-02T03:00:00Z")
    await expect(page.get_by_label("From", exact=True)).to_have_value("2026-01-02T08:30")
    await page.get_by_label("From", exact=True).fill("2026-01-02T09:30")
    await page.get_by_role("button", name="Show").click()
    await expect(page).to_have_url(re.compile("from=2026-01-02T04%3A00"))
    await expect(page.get_by_label("From", exact=True)).to_have_value("2026-01-02T09:30")
