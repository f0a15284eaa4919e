"""What surrounds every page."""

from playwright.async_api import Page, expect

from tests.support.browser import in_both_themes


async def test_first_page_names_who_is_signed_in(browser_page: Page) -> None:
    await expect(browser_page.locator("header")).to_contain_text("ada admin")
    await expect(browser_page.get_by_role("heading", name="Approvals", level=1)).to_be_visible()
    await in_both_themes(browser_page, "shell")
