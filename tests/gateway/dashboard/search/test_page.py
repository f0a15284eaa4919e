"""One search over everything, from every page."""

import re

from playwright.async_api import expect

from purser.budget.scopes import Kind
from purser.gateway.access.roles import Role
from purser.gateway.dashboard.search.page import SHOWN, Found, Section, listing, scope_of
from tests.gateway.conftest import RunningGateway
from tests.gateway.dashboard.acting import open_page
from tests.gateway.dashboard.conftest import Tenant
from tests.support.servers.browser import in_both_themes


def test_a_scope_is_searched_by_its_kind_and_its_id() -> None:
    assert scope_of("session:s1") == (Kind.SESSION, "s1")
    assert scope_of("s1") == (None, "s1")
    assert scope_of("http://x") == (None, "http://x")


def test_hostile_text_stays_text_and_a_full_section_leads_to_more() -> None:
    hostile = "<i>x</i>"
    shown = listing([Section("Keys", [Found("/keys", hostile, hostile)] * SHOWN, "/keys")], hostile)
    assert "<i>x" not in shown
    assert "All keys" in shown
    assert "All keys" not in listing([Section("Keys", [Found("/keys", "a")], "/keys")], "a")


def test_an_empty_result_says_why() -> None:
    assert "What are you looking for?" in listing([], "")
    assert "Nothing is called “&lt;b&gt;”" in listing([], "<b>")


async def test_everything_that_a_text_names_is_found(gateway: RunningGateway) -> None:
    agent, admin = await gateway.client(Role.AGENT, name="orion-b"), await gateway.client(Role.ADMIN, name="other")
    one = {"id": "a", "model": "priced-model", "instructions": "Read."}
    task = {"session_id": "orion-s", "task_id": "orion-t", "user_id": "orion-u", "input": "Go.", "agents": [one]}
    assert (await agent.post("/v1/tasks", json=task)).is_success
    await admin.put("/v1/budgets/session:orion-h", json={"limit_tokens": 1, "mode": "approval"})
    path = ["user:orion-u", "session:orion-h"]
    asked = (await agent.post("/v1/holds", json={"key": "k", "path": path, "tokens": 9})).json()
    assert asked["verdict"] == "ask"
    page = await open_page(gateway, "/search?q=ORION")
    found = dict(re.findall(r"<h2>(\w+)</h2>.*?(<ul.*?</ul>)", page.html))
    assert {title: re.findall(r'class="id" href="([^"]+)"', links) for title, links in found.items()} == {
        "Tasks": ["/tasks/orion-t"],
        "Sessions": ["/sessions/orion-s"],
        "Approvals": [f"/approvals?id={asked['approval_id']}"],
        "Users": ["/budgets?scope=user%3Aorion-u"],
        "Budgets": ["/budgets?scope=user%3Aorion-u", "/budgets?scope=session%3Aorion-h"],
        "Keys": ["/keys"],
    }
    by_id = await open_page(gateway, f"/search?q={asked['approval_id']}")
    assert f'href="/approvals?id={asked["approval_id"]}"' in by_id.html
    viewer = await open_page(gateway, "/search?q=orion", Role.VIEWER, "vic")
    assert "<h2>Keys</h2>" not in viewer.html
    assert "<h2>Tasks</h2>" in viewer.html


async def test_the_keyboard_leads_to_the_search_and_through_its_results(tenant: Tenant) -> None:
    await tenant.budget("session:alpha", limit_tokens=5)
    await tenant.budget("session:alphabet", limit_tokens=5)
    page = await tenant.page("/health")
    await page.keyboard.press("/")
    await page.keyboard.type("alpha")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("heading", name="Budgets", exact=True)).to_be_visible()
    await in_both_themes(page, "search")
    await page.keyboard.press("ArrowDown")
    await page.keyboard.press("ArrowDown")
    await expect(page.locator("[data-found] a").nth(1)).to_be_focused()
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("heading", name="Budgets", level=1)).to_be_visible()
