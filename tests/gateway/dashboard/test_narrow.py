"""On a phone: no page is wider than the window, and the header and the navigation stay usable."""

import re

import httpx
import pytest
from playwright.async_api import Page, expect

from purser.gateway.access.roles import Role
from tests.gateway.dashboard.approvals.test_page import asks
from tests.gateway.dashboard.conftest import Tenant
from tests.gateway.dashboard.test_pages import page_paths
from tests.support.context.conversations import talk

PHONE = (390, 844)


async def overflow(page: Page) -> list[str]:
    """Elements that extend beyond the window; empty if the page is not wider than it."""
    found: list[str] = await page.evaluate(
        """() => document.documentElement.scrollWidth <= innerWidth ? [] :
             [`${document.documentElement.scrollWidth} px`, ...[...document.body.querySelectorAll('*')]
               .filter(one => one.getBoundingClientRect().right > innerWidth).map(one => one.outerHTML.slice(0, 90))]"""
    )
    return found


async def compressed_session(tenant: Tenant) -> str:
    """Creates a session and compresses it once; returns its id."""
    client, session_id = await tenant.client(Role.ADMIN), tenant.named("s")
    said = [message.to_dict() for message in talk(40)]
    assert (await client.post(f"/v1/sessions/{session_id}/messages", json=said)).is_success
    assert (await client.post(f"/v1/sessions/{session_id}/compress", json={"budget": 700}, timeout=60)).is_success
    return session_id


@pytest.mark.proof
async def test_no_page_is_wider_than_a_phone(tenant: Tenant) -> None:
    task_id = await tenant.submit(tenant.agent("an_agent_with_a_rather_long_name"), tenant.agent("b"))
    await tenant.until_task(task_id, "completed")
    await asks(tenant, "a_session_whose_name_is_as_long_as_names_of_sessions_become_in_practice")
    session_id = await compressed_session(tenant)
    key = await tenant.pool.fetchval("select key from calls where task_id = $1 limit 1", task_id)
    paths = [path.format(task_id=task_id, session_id=session_id, key=key) for path in page_paths()]
    assert not [path for path in paths if "{" in path]
    page = await tenant.page(size=PHONE)
    for path in [*paths, "/approvals?state=decided", "/ledger?by=task", "/sign-in"]:
        await page.goto(path)
        await expect(page.locator("main").first).to_be_visible()
        await expect(page.locator(".loading")).to_have_count(0)
        assert await overflow(page) == [], path


async def test_theme_sign_out_and_the_current_page_are_visible_on_a_phone(tenant: Tenant) -> None:
    page = await tenant.page("/health", name="a-key-with-a-long-name", size=PHONE)
    for control in (
        page.get_by_role("link", name="Health"),
        page.get_by_role("button", name="Dark"),
        page.get_by_role("button", name="Sign out"),
    ):
        await expect(control).to_be_in_viewport(ratio=0.99)
    top = await page.locator(".top").bounding_box()
    assert top is not None
    assert top["height"] < 60  # one row
    await page.get_by_role("button", name="Dark").click()
    await expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    await page.get_by_role("button", name="Sign out").click()
    await page.wait_for_url(re.compile("/sign-in"))


async def test_unknown_address_is_a_page_with_the_navigation(tenant: Tenant) -> None:
    tenant.watch.expects_outage = True  # the 404 is expected
    page = await tenant.page(size=PHONE)
    for path in ("/nope", "/tasks/one/two", "/nope/deeper?x=1"):
        answer = await page.goto(path)
        assert answer is not None
        assert answer.status == httpx.codes.NOT_FOUND
        await expect(page.get_by_role("alert")).to_contain_text("There is no page at this address")
        assert await overflow(page) == [], path
    await page.get_by_role("link", name="Budgets").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Budgets")
    tenant.watch.complaints.clear()


async def test_unknown_address_of_the_api_and_of_programs_stays_a_problem(tenant: Tenant) -> None:
    page = await tenant.page()
    for path, accept in (("/v1/nope", "text/html"), ("/nope", "application/json")):
        answer = await page.context.request.get(path, headers={"accept": accept})
        assert answer.status == httpx.codes.NOT_FOUND
        assert answer.headers["content-type"].startswith("application/problem+json"), path
