"""The timeline of a task shows why it took as long as it did."""

from playwright.async_api import expect

from purser.compose.demo.provider import Fault, FaultKind, Match
from tests.gateway.dashboard.conftest import Tenant
from tests.support.servers.browser import in_both_themes


async def test_attempts_show_how_they_failed_separately_from_the_pauses_between_them(tenant: Tenant) -> None:
    agent = tenant.agent("writer", "Done.")
    recording = str(agent["api_base"]).split("/r/")[1].split("/")[0]
    for kind in (FaultKind.RATE_LIMITED, FaultKind.SERVER_ERROR):
        fault = Fault(kind=kind, match=Match(recording=recording), retry_after_ms=1_000)
        tenant.stack.provider.control.add_fault(fault)
    task_id = await tenant.submit(agent)
    assert await tenant.until_task(task_id, "completed", "failed") == "completed"
    page = await tenant.page(f"/tasks/{task_id}")
    steps = page.locator(".turns .steps .step")
    called, pauses = steps.filter(has_text="called"), steps.filter(has_text="backoff")
    await expect(called).to_have_count(3)
    await expect(called.nth(0)).to_contain_text("rate limited")
    await expect(called.nth(1)).to_contain_text("server error, presumed")
    await expect(pauses).to_have_count(2)
    await in_both_themes(page, "task-timeline")


async def test_an_agent_whose_window_is_too_small_shows_what_must_be_in_it(tenant: Tenant) -> None:
    task_id = await tenant.submit(tenant.agent("writer"), context={"max_tokens": 60}, input="Say something. " * 40)
    assert await tenant.until_task(task_id, "completed", "failed") == "failed"
    page = await tenant.page(f"/tasks/{task_id}")
    await expect(page.locator("main")).to_contain_text("a context budget of 60 tokens is too small")
    await expect(page.locator("main")).to_contain_text("input ")


async def test_delay_names_its_scope_and_a_refusal_what_was_asked(tenant: Tenant) -> None:
    slow = await tenant.submit(
        tenant.agent("writer"), budget={"task": {"limit_tokens": 100, "mode": "soft"}}, input="Say something."
    )
    short = await tenant.submit(tenant.agent("writer"), budget={"task": {"limit_tokens": 50, "mode": "hard"}})
    assert await tenant.until_task(short, "completed", "refused") == "refused"
    page = await tenant.page(f"/tasks/{short}")
    await expect(page.locator(".turns .steps")).to_contain_text(f"task:{short}")
    await expect(page.locator(".turns .steps .step").last).to_contain_text("asked, limit")
    assert await tenant.until_task(slow, "completed", "failed") == "completed"
    await page.goto(f"/tasks/{slow}")
    await expect(page.locator(".turns .steps")).to_contain_text(f"5000 ms by task:{slow} at 1")
