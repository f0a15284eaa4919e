"""The frame of every page."""

from playwright.async_api import Page, expect

from tests.gateway.dashboard.approvals.test_page import asks
from tests.gateway.dashboard.conftest import Tenant
from tests.support.servers.browser import in_both_themes

CONNECTIONS = 6
"""Connections that a browser opens per host."""
HIDE = """() => {
    Object.defineProperty(document, 'hidden', {configurable: true, get: () => true});
    document.dispatchEvent(new Event('visibilitychange'));
}"""
"""Makes a page appear hidden."""
SHOW = "() => { delete document.hidden; document.dispatchEvent(new Event('visibilitychange')); }"


async def test_first_page_names_who_is_signed_in(browser_page: Page) -> None:
    await expect(browser_page.locator("header")).to_contain_text("ada admin")
    await expect(browser_page.get_by_role("heading", name="Approvals", level=1)).to_be_visible()
    await in_both_themes(browser_page, "shell")


async def test_more_pages_are_open_than_a_browser_has_connections_and_a_page_shown_again_is_up_to_date(
    tenant: Tenant,
) -> None:
    pages = [await tenant.page()]
    for _ in range(CONNECTIONS + 1):
        await pages[-1].evaluate(HIDE)
        pages.append(await pages[0].context.new_page())
        await pages[-1].goto("/approvals")
        await expect(pages[-1].get_by_text("Nothing is waiting for you")).to_be_visible()
    await asks(tenant, "s1")
    for page in (pages[-1], pages[-2], pages[0]):
        await page.evaluate(SHOW)
        await expect(page.locator(".rows .request")).to_have_count(1)
