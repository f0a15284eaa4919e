"""The screenshots of `docs/how-to/dashboard.md`.

To renew them run this file, then `cp artifacts/screenshots/dashboard-*.png docs/images/`.
"""

from typing import Any

import httpx
from playwright.async_api import expect

from purser.gateway.access.roles import Role
from tests.gateway.dashboard.conftest import Tenant
from tests.support.servers.browser import shot

MOST_BYTES = 200_000
SIZE = (1280, 800)


async def a_night(tenant: Tenant) -> None:
    """Four sessions, three of which exceed their budgets."""
    client = await tenant.client(name="sam")
    sessions: tuple[tuple[str, int, int, int, dict[str, Any]], ...] = (
        ("market-report", 200_000, 188_400, 24_000, {"deadline_s": 1_500}),
        ("incident-4711", 60_000, 58_900, 9_500, {"deadline_s": 280, "not_submitter": True}),
        ("migration-plan", 500_000, 481_000, 64_000, {"deadline_s": 5_400, "two_people_above_tokens": 40_000}),
        ("weekly-digest", 80_000, 31_000, 0, {}),
    )
    for session, limit, spent, ask, rules in sessions:
        await tenant.budget(f"session:{session}", limit_tokens=limit, mode="approval", approval=rules)
        for agent, share in (("planner", 3), ("researcher", 5), ("writer", 2)):
            await used(client, tenant, session, agent, spent * share // 10)
        if ask:
            body = {"key": tenant.named("k"), "path": path(tenant, session, "writer"), "tokens": ask}
            assert (await client.post("/v1/holds", json=body)).json()["verdict"] == "ask"


def path(tenant: Tenant, session: str, agent: str) -> list[str]:
    """The path of an agent of the session's task."""
    return [f"tenant:{tenant.name}", f"session:{session}", f"task:{session}-1", f"agent:{session}-1/{agent}"]


async def used(client: httpx.AsyncClient, tenant: Tenant, session: str, agent: str, tokens: int) -> None:
    """Holds and settles in a few steps, so that the chart has several points."""
    for part in range(4):
        body = {"key": tenant.named("k"), "path": path(tenant, session, agent), "tokens": tokens // 4 + part}
        held = (await client.post("/v1/holds", json=body)).json()
        report = {"attempt": 1, "usage": {"total": tokens // 4}, "nano_usd": tokens * 500}
        assert (await client.post(f"/v1/holds/{held['hold_id']}/settle", json=report)).is_success


async def test_pictures_of_the_docs(tenant: Tenant) -> None:
    tenant.name = "acme"
    await a_night(tenant)
    page = await tenant.page(role=Role.APPROVER, name="anna", size=SIZE)
    await expect(page.locator(".rows .request")).to_have_count(3)
    await page.locator(".rows .request").nth(1).click()
    await expect(page.locator(".detail h2")).to_contain_text("market-report")
    pictures = [await shot(page, "dashboard-approvals")]
    page = await tenant.page("/budgets?order=tree&scope=session:market-report", name="ada", theme="dark", size=SIZE)
    await page.get_by_role("button", name="Scopes within session:market-report").click()
    await expect(page.locator("#detail .chart svg")).to_be_visible()
    pictures.append(await shot(page, "dashboard-budgets"))
    assert all(picture.stat().st_size < MOST_BYTES for picture in pictures)
