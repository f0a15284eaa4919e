"""Several requests decided together on the page, and desktop notifications."""

from playwright.async_api import expect

from purser.gateway.access.roles import Role
from tests.gateway.dashboard.approvals.test_page import asks, grants, rows, state
from tests.gateway.dashboard.conftest import Tenant
from tests.support.servers.browser import NARROW, check_accessibility, in_both_themes, shot

RECORD = """() => {
  window.shown = [];
  window.Notification = class {
    static permission = "granted";
    static requestPermission = async () => "granted";
    constructor(title, { body, tag }) { window.shown.push([title, body, tag]); }
  };
}"""


async def test_selected_requests_are_decided_with_one_note_and_each_result_is_shown(tenant: Tenant) -> None:
    ids = [await asks(tenant, f"s{number}", approval={"deadline_s": 1_000 + 100 * number}) for number in range(3)]
    ids.append(await asks(tenant, "admins-only", approval={"deadline_s": 2_000, "roles": ["admin"]}))
    page = await tenant.page(role=Role.APPROVER, name="anna")
    await expect(rows(page)).to_have_count(4)
    await page.get_by_label("Scope, task or agent").fill("t-s")
    await expect(rows(page)).to_have_count(3)
    await page.get_by_role("checkbox", name="Select session:s1").click()
    await expect(page.locator(".together")).to_contain_text("1 selected")
    # What the filter hides is not selected any more.
    await page.get_by_label("Scope, task or agent").fill("s0")
    await expect(rows(page)).to_have_count(1)
    await page.get_by_label("Scope, task or agent").fill("")
    await expect(rows(page)).to_have_count(4)
    await expect(page.locator(".together")).to_contain_text("None selected")
    await page.get_by_label("Group by session or task").check()
    await expect(page.locator(".group")).to_have_count(4)
    await page.keyboard.press("Escape")
    await page.get_by_label("Group by session or task").blur()
    await page.keyboard.press("x")
    await page.get_by_role("button", name="Select the requests of session:s1").click()
    await page.get_by_role("checkbox", name="Select session:admins-only").press("Space")
    await expect(page.locator(".together")).to_contain_text("3 selected")
    await page.get_by_label("One note for all").fill("Quarter end.")
    await in_both_themes(page, "approvals-together")
    await page.get_by_role("button", name="Approve each …").click()
    await expect(page.locator("#confirm-each")).to_be_focused()
    assert await grants(tenant) == []
    await shot(page, "approvals-together-sure")
    await page.keyboard.press("Enter")
    results = page.locator(".results li")
    await expect(results).to_have_count(3)
    await expect(page.locator(".results .good")).to_have_count(2)
    await expect(page.locator(".results .bad")).to_contain_text("one of the roles admin")
    assert [await state(tenant, one) for one in ids] == ["approved", "approved", "pending", "pending"]
    notes = await tenant.pool.fetch("select note, decision_id from decisions where tenant = $1", tenant.name)
    assert [row["note"] for row in notes] == ["Quarter end."] * 2
    await check_accessibility(page)
    await shot(page, "approvals-together-results")
    narrow = await tenant.page(role=Role.APPROVER, name="bert", size=NARROW)
    await narrow.get_by_role("button", name="Select all 2").click()
    await expect(narrow.locator(".together")).to_contain_text("2 selected")
    await in_both_themes(narrow, "approvals-together-narrow")


async def test_a_new_request_is_announced_only_where_notifications_are_on(tenant: Tenant) -> None:
    page = await tenant.page(role=Role.APPROVER, name="anna")
    await page.evaluate(RECORD)
    await asks(tenant, "silent")
    await expect(rows(page)).to_have_count(1)
    button = page.get_by_role("button", name="Notify me")
    await button.click()
    await expect(button).to_have_attribute("aria-pressed", "true")
    loud = await asks(tenant, "loud")
    await expect(rows(page)).to_have_count(2)
    assert await page.evaluate("window.shown") == [
        ["Approval needed", "session:loud is short of 500 tokens", loud],
    ]
