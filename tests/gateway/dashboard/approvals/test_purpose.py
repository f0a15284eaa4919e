"""The purpose of an approval and its effects, as shown before the decision."""

import json
from typing import Any

from playwright.async_api import expect

from purser.gateway.access.roles import Role
from tests.gateway.dashboard.approvals.test_page import grants
from tests.gateway.dashboard.conftest import Tenant
from tests.gateway.dashboard.test_narrow import PHONE
from tests.support.servers.browser import check_accessibility, in_both_themes
from tests.support.world import calls

HOSTILE = "<img src=x onerror=alert(1)> Reconcile the invoices."


async def parked(tenant: Tenant) -> str:
    """Submits a task whose second agent waits for approval; returns its id."""
    task_id = await tenant.submit(
        tenant.agent("reader", "Three duplicates."),
        tenant.agent("writer", depends_on=["reader"], instructions=HOSTILE, max_output_tokens=400),
        input="Find duplicates in the invoices of March.",
        budget={"task": {"limit_tokens": 200, "mode": "approval"}},
    )
    await tenant.until_task(task_id, "waiting_approval")
    return task_id


async def shown(tenant: Tenant) -> dict[str, Any]:
    """The only pending request, as the API returns it to an approver."""
    client = await tenant.client(Role.APPROVER, "api")
    [one] = (await client.get("/v1/approvals?state=pending")).json()["items"]
    answer: dict[str, Any] = (await client.get(f"/v1/approvals/{one['approval_id']}")).json()
    return answer


async def test_request_shows_task_agent_and_last_input_as_text(tenant: Tenant) -> None:
    task_id = await parked(tenant)
    page = await tenant.page(role=Role.APPROVER, name="anna")
    purpose = page.locator(".purpose")
    await expect(purpose).to_contain_text("Find duplicates in the invoices of March.")
    await expect(purpose).to_contain_text(HOSTILE)
    await expect(purpose).to_contain_text("Three duplicates.")
    await expect(page.locator(".purpose img")).to_have_count(0)
    answer = await shown(tenant)
    [purpose_view] = answer["purposes"]
    read = (await tenant.stack.stores.tasks.get(tenant.name, task_id))["agents"]["reader"]
    spent = sum(read["usage"][name] for name in ("input", "cache_read", "output", "unsplit"))
    one_turn = {"tokens": spent, "nano_usd": read["nano_usd"]}
    assert answer["finish"] == {"low": one_turn, "high": one_turn, "turns": 1}
    await expect(page.locator(".about")).to_contain_text("more until the waiting tasks end, by 1 turn so far")
    assert purpose_view["input"] == "Find duplicates in the invoices of March."
    assert purpose_view["instructions"] == HOSTILE
    assert "Three duplicates." in purpose_view["last_input"]["text"]
    assert purpose_view["tool"] is None
    await in_both_themes(page, "approval-purpose")
    phone = await tenant.page(role=Role.APPROVER, name="bert", size=PHONE)
    await expect(phone.locator(".purpose")).to_be_visible()
    await in_both_themes(phone, "approval-purpose-phone")


async def test_request_of_a_paid_tool_shows_the_tool_beside_task_and_agent(tenant: Tenant) -> None:
    await tenant.budget("tool:search", limit_nano_usd=1, mode="approval")
    declared = {"name": "search", "description": "Finds.", "parameters": {}, "activity": "tool_s", "price_usd": "0.01"}
    agent = tenant.agent("a", calls("search", query=HOSTILE), "Done.", instructions="Look it up.", tools=[declared])
    task_id = await tenant.submit(agent, input="Who wrote this?")
    await tenant.until_task(task_id, "waiting_approval")
    page = await tenant.page(role=Role.APPROVER, name="anna")
    purpose = page.locator(".purpose")
    for text in ("Who wrote this?", "Look it up.", "Runs the paid tool", HOSTILE):
        await expect(purpose).to_contain_text(text)
    await expect(page.locator(".purpose img")).to_have_count(0)
    answer = await shown(tenant)
    [purpose_view] = answer["purposes"]
    assert purpose_view["key"] == answer["waiters"][0]["key"]
    assert purpose_view["tool"] == {"name": "search", "arguments": json.dumps({"query": HOSTILE})}
    effect = answer["effects"]["shortage"]
    assert (effect["grant_nano_usd"], effect["admitted"]) == (9_999_999, 1)


async def test_default_amount_lets_the_call_continue_without_delay(tenant: Tenant) -> None:
    task_id = await parked(tenant)
    effects = (await shown(tenant))["effects"]
    page = await tenant.page(role=Role.APPROVER, name="anna")
    amount, effect = page.get_by_label("Tokens to grant"), page.locator(".effect")
    await expect(amount).to_have_value(f"{effects['without_delay']['grant_tokens']:,}")
    await expect(effect).to_contain_text("no delay")
    await page.get_by_role("button", name="Exact shortage").click()
    await expect(amount).to_have_value(f"{effects['shortage']['grant_tokens']:,}")
    await expect(effect).to_contain_text("100 % of the limit used; slowed by 5.0 s")
    await amount.fill("5")
    await expect(effect).to_contain_text("1 call asks again")
    await amount.fill("much")
    await expect(effect).to_contain_text("cannot be read")
    await check_accessibility(page)
    await page.get_by_role("button", name="Without delay").click()
    await expect(effect).to_contain_text("no delay")
    await page.get_by_role("button", name="Approve", exact=True).click()
    assert await tenant.until_task(task_id, "completed", "failed", "refused") == "completed"
    assert await grants(tenant) == [effects["without_delay"]["grant_tokens"]]
    delays = await tenant.pool.fetchval("select sum(delay_ms) from calls where tenant = $1", tenant.name)
    assert delays == 0


async def test_no_amount_promises_no_delay_where_another_scope_delays(tenant: Tenant) -> None:
    admin = await tenant.client(Role.ADMIN, "api")
    for scope, policy in (
        ("session:s1", {"limit_tokens": 500, "mode": "approval"}),
        ("task:t1", {"limit_tokens": 750}),
    ):
        assert (await admin.put(f"/v1/budgets/{scope}", json=policy)).is_success
    ask = {"key": "k1", "path": ["session:s1", "task:t1"], "tokens": 700}
    assert (await admin.post("/v1/holds", json=ask)).json()["verdict"] == "ask"
    page = await tenant.page(role=Role.APPROVER, name="anna")
    await page.get_by_role("button", name="Less delay").click()
    await expect(page.locator(".effect")).to_contain_text("slowed by 0.8 s by")
    await expect(page.get_by_role("button", name="Without delay")).to_have_count(0)
