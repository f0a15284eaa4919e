"""Navigation after a decision, and the title of the window."""

import re

from playwright.async_api import expect

from purser.gateway.access.roles import Role
from tests.gateway.dashboard.approvals.test_page import asks
from tests.gateway.dashboard.conftest import Tenant


async def test_j_after_a_decision_opens_the_request_that_follows_it(tenant: Tenant) -> None:
    for number in range(4):
        await asks(tenant, f"s{number}", approval={"deadline_s": 1_000 + 100 * number})
    page = await tenant.page(role=Role.APPROVER, name="anna")
    chosen, heading = page.locator(".request[aria-current]"), page.locator("#detail h2")
    await expect(page).to_have_title(re.compile(r"^\(4\) Approvals"))
    await page.keyboard.press("j")
    await expect(heading).to_contain_text("s1")
    await page.get_by_role("button", name="Approve", exact=True).click()
    await expect(page.locator(".outcome")).to_contain_text("You approved")
    await expect(page.locator(".rows .request")).to_have_count(3)
    await expect(page).to_have_title(re.compile(r"^\(3\) Approvals"))
    await page.keyboard.press("j")
    await expect(heading).to_contain_text("s2")
    await expect(chosen).to_contain_text("s2")
    await page.keyboard.press("k")
    await expect(heading).to_contain_text("s0")
