"""Signing in with a browser: by link, by key, and the messages if neither works."""

import pytest
from playwright.async_api import Browser, Page, expect

from purser.gateway.access.roles import Role
from tests.gateway.dashboard.conftest import Tenant
from tests.support.servers.browser import LONG_MS, Theme, check_accessibility, shot


async def stranger(tenant: Tenant, browser: Browser, theme: Theme = "light") -> Page:
    """A page in a browser without a session."""
    context = await browser.new_context(base_url=tenant.stack.url, color_scheme=theme)
    tenant.open.push_async_callback(context.close)
    page = await context.new_page()
    page.set_default_timeout(LONG_MS)
    return page


async def link_of(tenant: Tenant, role: Role = Role.VIEWER) -> str:
    answer = await (await tenant.client(role, "ada")).post("/v1/sign-in-links")
    return str(answer.json()["token"])


async def test_a_link_leads_to_the_page_that_was_asked_for_and_leaves_no_token_behind(
    tenant: Tenant, browser: Browser
) -> None:
    page, token = await stranger(tenant, browser), await link_of(tenant)
    tenant.watch.over(page)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    await page.goto(f"/sign-in?next=/budgets#{token}")
    await page.wait_for_url(f"{tenant.stack.url}/budgets")
    assert not [url for url in asked if token in url.partition("#")[0]]
    await page.go_back()
    assert token not in page.url


async def test_a_used_link_is_reported_and_leaves_the_form(tenant: Tenant, browser: Browser) -> None:
    first, second, token = await stranger(tenant, browser), await stranger(tenant, browser), await link_of(tenant)
    await first.goto(f"/sign-in#{token}")
    await first.wait_for_url(f"{tenant.stack.url}/")
    await second.goto(f"/sign-in#{token}")
    await expect(second.get_by_role("alert")).to_contain_text("links work once")
    await expect(second.get_by_label("Key")).to_be_visible()
    assert token not in second.url


async def test_a_key_signs_in_by_the_form_and_a_wrong_one_is_reported(tenant: Tenant, browser: Browser) -> None:
    page = await stranger(tenant, browser)
    await page.goto("/budgets")
    await page.wait_for_url("**/sign-in?next=/budgets")
    await page.get_by_label("Key").fill("purser_wrong")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("alert")).to_contain_text("no live key")
    await page.get_by_label("Key").fill(await tenant.key(Role.VIEWER, "vera"))
    await page.get_by_role("button", name="Sign in").click()
    await page.wait_for_url(f"{tenant.stack.url}/budgets")


async def test_a_key_of_an_agent_opens_no_pages(tenant: Tenant, browser: Browser) -> None:
    page = await stranger(tenant, browser)
    await page.goto("/sign-in")
    await page.get_by_label("Key").fill(await tenant.key(Role.AGENT, "backend"))
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("alert")).to_contain_text("'agent' opens no pages")


@pytest.mark.parametrize("theme", ["light", "dark"])
async def test_the_page_is_accessible(tenant: Tenant, browser: Browser, theme: Theme) -> None:
    page = await stranger(tenant, browser, theme)
    tenant.watch.over(page)
    await page.goto("/sign-in")
    await expect(page.get_by_label("Key")).to_be_focused()
    await check_accessibility(page)
    await shot(page, f"sign-in-{theme}")
    await page.evaluate("document.getElementById('problem').textContent = 'This is no live key.'")
    await check_accessibility(page)


OPEN_STREAM = """address => new Promise(done => {
    const stream = new EventSource(address, {withCredentials: true});
    stream.onopen = () => { stream.close(); done(true); };
    stream.onerror = () => { stream.close(); done(false); };
})"""


async def test_only_pages_of_the_dashboard_open_a_stream(tenant: Tenant, browser: Browser) -> None:
    page = await stranger(tenant, browser)
    await page.goto(f"/sign-in#{await link_of(tenant)}")
    await page.wait_for_url(f"{tenant.stack.url}/")
    # Another port is another origin, but cookies ignore ports: the session cookie is sent.
    other = await page.context.new_page()
    await other.goto(f"{tenant.stack.provider.address}/v1/models")
    page_id = await page.evaluate("document.body.dataset.page")
    address = f"{tenant.stack.url}/_purser/pages/{page_id}/events?after=0"
    assert await page.evaluate(OPEN_STREAM, address) is True
    assert await other.evaluate(OPEN_STREAM, address) is False
