"""Charts do not capture the mouse wheel, are stable under the pointer, and are readable."""

import pytest
from playwright.async_api import Locator, Page, expect

from purser.gateway.access.roles import Role
from tests.gateway.dashboard.conftest import Tenant
from tests.gateway.dashboard.test_narrow import PHONE, compressed_session
from tests.support.servers.browser import WIDE, shot

UNREADABLE = """() => [...document.querySelectorAll('.chart svg')].flatMap(chart => {
  const edge = chart.getBoundingClientRect();
  const labels = [...chart.querySelectorAll('text')].filter(one => one.textContent.trim())
    .map(one => ({text: one.textContent, box: one.getBoundingClientRect()}));
  const cut = labels.filter(({box}) => box.left < edge.left - 1 || box.right > edge.right + 1
    || box.top < edge.top - 1 || box.bottom > edge.bottom + 1).map(one => `${one.text} is cut`);
  const over = labels.flatMap((one, at) => labels.slice(at + 1).filter(other =>
    one.box.left < other.box.right - 1 && other.box.left < one.box.right - 1
    && one.box.top < other.box.bottom - 3 && other.box.top < one.box.bottom - 3)
    .map(other => `${one.text} is over ${other.text}`));
  return [...cut, ...over];
})"""
"""Labels that overlap each other or are cut off by their chart."""
OVER_TIME = f"""spans => {{
  const {{chart}} = document.querySelector('.chart');
  const unreadable = {UNREADABLE}, start = Date.UTC(2026, 0, 1, 10, 21, 45);
  return spans.flatMap(([from, span]) => {{
    chart.setOption({{xAxis: {{min: start + from, max: start + from + span}}}});
    chart.getZr().refreshImmediately();
    return unreadable().map(what => `${{from}} ms + ${{span}} ms: ${{what}}`);
  }});
}}"""
"""Unreadable labels when the time axis of the first chart shows these ranges."""


async def drawn(page: Page) -> Locator:
    """The first chart, once it is drawn."""
    chart = page.locator(".chart").first
    await expect(chart.locator("svg text").first).to_be_visible()
    return chart


async def task_of_three(tenant: Tenant) -> str:
    """Runs a task of three agents to its end; returns its id."""
    task_id = await tenant.submit(*(tenant.agent(name) for name in ("planner", "critic-with-a-long-name", "writer")))
    await tenant.until_task(task_id, "completed")
    return task_id


async def test_wheel_over_a_chart_scrolls_the_page(tenant: Tenant) -> None:
    task_id, session_id = await task_of_three(tenant), await compressed_session(tenant)
    page = await tenant.page(size=(1360, 420))
    for path in (f"/tasks/{task_id}", f"/sessions/{session_id}"):
        await page.goto(path)
        chart = await drawn(page)
        await chart.hover()
        before = await page.evaluate("scrollY")
        await page.mouse.wheel(0, 150)
        await page.wait_for_function("before => scrollY > before", arg=before)


async def test_bar_that_is_pointed_at_stays(tenant: Tenant) -> None:
    page = await tenant.page(f"/tasks/{await task_of_three(tenant)}")
    chart = await drawn(page)
    bars = chart.locator('path[fill="var(--step-called)"]')
    count = await bars.count()
    boxes = [box for bar in await bars.all() if (box := await bar.bounding_box())]
    widest = max(boxes, key=lambda box: box["width"])
    # Once: a bar that disappears under the pointer is back at the next move.
    await page.mouse.move(widest["x"] + widest["width"] / 2, widest["y"] + widest["height"] / 2)
    await expect(chart.locator("svg")).to_contain_text("turn 1")  # its tooltip
    await expect(bars).to_have_count(count)


@pytest.mark.proof
async def test_labels_of_charts_are_whole_and_apart_on_every_width(tenant: Tenant) -> None:
    task_id, session_id = await task_of_three(tenant), await compressed_session(tenant)
    await tenant.budget(f"session:{session_id}", limit_tokens=1_000_000)
    client = await tenant.client(Role.AGENT)
    for number in range(3):
        body = {"key": f"h{number}", "path": [f"session:{session_id}"], "tokens": 300}
        hold = (await client.post("/v1/holds", json=body)).json()
        used = {"attempt": 1, "usage": {"input": 100, "output": 40}, "nano_usd": 60_000}
        await client.post(f"/v1/holds/{hold['hold_id']}/settle", json=used)
    budgets = f"/budgets?scope=session%3A{session_id}"
    for size in (PHONE, WIDE):
        page = await tenant.page(size=size)
        for path in (f"/tasks/{task_id}", f"/sessions/{session_id}", "/ledger?by=session", budgets):
            await page.goto(path)
            await drawn(page)
            assert await page.evaluate(UNREADABLE) == [], path
            await shot(page, f"charts-{size[0]}-{path.split('/')[1].partition('?')[0]}")


async def test_labels_of_a_time_axis_are_whole_whatever_it_shows(tenant: Tenant) -> None:
    client = await tenant.client(Role.AGENT)
    for number in range(2):
        body = {"key": f"h{number}", "path": ["session:s"], "tokens": 300}
        hold = (await client.post("/v1/holds", json=body)).json()
        used = {"attempt": 1, "usage": {"input": 100, "output": 40}, "nano_usd": 60_000}
        await client.post(f"/v1/holds/{hold['hold_id']}/settle", json=used)
    page = await tenant.page("/budgets?scope=session%3As", size=PHONE)
    await drawn(page)
    ranges = [[start, span] for span in (3_000, 60_000) for start in range(0, span, span // 20)]
    assert await page.evaluate(OVER_TIME, ranges) == []
