"""The page of budgets, used as a person does."""

import re

from playwright.async_api import Locator, Page, expect

from purser.budget.scopes import Scope
from purser.gateway.access.roles import Role
from tests.gateway.dashboard.conftest import Tenant
from tests.support.servers.browser import NARROW, check_accessibility, in_both_themes, shot


async def spend(tenant: Tenant, *path: str, tokens: int) -> None:
    """Holds and settles tokens on a path."""
    client = await tenant.client(name="backend")
    held = (await client.post("/v1/holds", json={"key": tenant.named("k"), "path": path, "tokens": tokens})).json()
    used = {"attempt": 1, "usage": {"total": tokens}, "nano_usd": 0}
    assert (await client.post(f"/v1/holds/{held['hold_id']}/settle", json=used)).is_success


def row(page: Page, scope: str) -> Locator:
    """The row of a scope."""
    return page.locator(f'.scopes-table tr:has(button[data-scope="{scope}"])')


async def a_tree(tenant: Tenant) -> None:
    """Two sessions of a user, the first with a task of two agents."""
    await tenant.budget("session:s1", limit_tokens=10_000, mode="hard")
    await tenant.budget("session:s2", limit_tokens=1_000, mode="soft")
    top = (f"tenant:{tenant.name}", "user:u1")
    for agent, tokens in (("planner", 4_000), ("writer", 4_500)):
        await spend(tenant, *top, "session:s1", "task:t1", f"agent:t1/{agent}", tokens=tokens)
    await spend(tenant, *top, "session:s2", "task:t2", "agent:t2/a", tokens=100)


async def test_tree_unfolds_from_below_the_tenant_to_agent(tenant: Tenant) -> None:
    await a_tree(tenant)
    page = await tenant.page("/budgets?order=tree")
    await expect(row(page, f"tenant:{tenant.name}")).to_be_visible()
    await expect(row(page, "session:s1")).to_have_count(0)
    for scope in ("user:u1", "session:s1", "task:t1"):
        await row(page, scope).get_by_role("button", name=f"Scopes within {scope}").click()
    await expect(row(page, "agent:t1/planner")).to_contain_text("4k of")
    await expect(row(page, "session:s1")).to_contain_text("85 % high")
    await row(page, "session:s1").locator(".name").click()
    await expect(page.locator("#detail")).to_contain_text("8,500")
    await expect(page.locator("#detail .chart svg")).to_be_visible()
    await in_both_themes(page, "budgets")
    await row(page, "session:s1").get_by_role("button", name="Scopes within session:s1").click()
    await expect(row(page, "task:t1")).to_have_count(0)


async def test_narrow_page_shows_table_and_detail_below_each_other(tenant: Tenant) -> None:
    await a_tree(tenant)
    page = await tenant.page("/budgets?scope=session:s1", size=NARROW)
    await expect(page.locator("#detail")).to_contain_text("8,500")
    await shot(page, "budgets-narrow-full", full=True)
    await check_accessibility(page)


async def test_filters_find_scopes_and_appear_in_the_url(tenant: Tenant) -> None:
    await a_tree(tenant)
    page = await tenant.page("/budgets?over=0.8")
    await expect(page.locator(".scopes-table tbody tr")).to_have_count(1)
    await expect(row(page, "session:s1")).to_be_visible()
    await page.get_by_label("Used at least").select_option("")
    await page.get_by_label("Kind").select_option("session")
    await expect(page.locator(".scopes-table tbody tr")).to_have_count(2)
    await page.get_by_label("Search").fill("S2")
    await page.keyboard.press("Enter")
    await expect(page.locator(".scopes-table tbody tr")).to_have_count(1)
    await expect(page).to_have_url(re.compile("kind=session&q=S2"))
    await page.goto("/budgets?over=nonsense")
    await expect(page.locator(".empty")).to_contain_text("This filter cannot be used")
    await page.goto("/budgets?q=nothing-is-called-so")
    await expect(page.locator(".empty")).to_contain_text("No scope matches")


async def test_links_of_alerts_show_what_runs_out_soon(tenant: Tenant) -> None:
    await a_tree(tenant)
    await tenant.pool.execute(
        "insert into balance_samples (tenant, scope_id, window_start, at, spent_tokens, spent_nano) "
        "select b.tenant, b.scope_id, b.window_start, now() - interval '30 minutes', 0, 0 "
        "from balances b join scopes s using (tenant, scope_id) "
        "where s.tenant = $1 and s.kind = 'session' and s.id = 's1'",
        tenant.name,
    )
    page = await tenant.page("/budgets?exhausts=1h&kind=session")
    await expect(page.locator(".scopes-table tbody tr")).to_have_count(1)
    await expect(row(page, "session:s1")).to_be_visible()
    await page.goto("/budgets?exhausts=soon")
    await expect(page.locator(".empty")).to_contain_text("use 1h or 24h")


async def test_limit_is_changed_after_confirmation_of_before_and_after(tenant: Tenant) -> None:
    await a_tree(tenant)
    page = await tenant.page("/budgets?kind=session&scope=session:s1")
    await page.get_by_label("Token limit", exact=True).fill("8k")
    await page.get_by_label("Mode", exact=True).select_option("approval")
    await page.get_by_role("button", name="Change …").click()
    question = page.locator(".question")
    await expect(question).to_contain_text("Token limit: 10,000 tokens → 8,000 tokens")
    await expect(question).to_contain_text("Mode: hard → approval")
    await expect(question).to_contain_text("More than that is spent and held already")
    await expect(page.get_by_label("Token limit", exact=True)).to_be_disabled()  # it would not be what is changed
    assert (await tenant.policies.budget(tenant.name, Scope.parse("session:s1"))).policy.limit_tokens == 10_000
    await shot(page, "budgets-change")
    await check_accessibility(page)
    await page.get_by_role("button", name="Yes, change it").click()
    await expect(row(page, "session:s1")).to_contain_text("8.5k of 8k")
    now = (await tenant.policies.budget(tenant.name, Scope.parse("session:s1"))).policy
    assert (now.limit_tokens, now.mode) == (8_000, "approval")
    by = await tenant.pool.fetch(
        "select by, action, target from changes where tenant = $1 and by = 'ada' and action = 'policy.set'", tenant.name
    )
    assert [tuple(change) for change in by] == [("ada", "policy.set", "session:s1")]


async def test_frozen_scope_refuses_calls_until_it_is_unfrozen(tenant: Tenant) -> None:
    await a_tree(tenant)
    page = await tenant.page("/budgets?kind=session&scope=session:s1")
    await page.get_by_role("button", name="Freeze …").click()
    await expect(page.locator(".question")).to_contain_text("every call that draws on this scope is refused")
    await page.get_by_role("button", name="Yes, change it").click()
    await expect(row(page, "session:s1")).to_contain_text("frozen")
    client = await tenant.client(name="backend")
    ask = {"key": tenant.named("k"), "path": ["session:s1"], "tokens": 1}
    assert (await client.post("/v1/holds", json=ask)).json()["verdict"] == "refuse"
    await page.get_by_role("button", name="Unfreeze …").click()
    await page.get_by_role("button", name="Yes, change it").click()
    await expect(page.get_by_role("button", name="Freeze …")).to_be_visible()
    assert (await client.post("/v1/holds", json=ask)).json()["verdict"] in ("allow", "warn")


async def test_concurrent_change_by_someone_else_is_not_overwritten(tenant: Tenant) -> None:
    await a_tree(tenant)
    page = await tenant.page("/budgets?kind=session&scope=session:s1")
    await page.get_by_label("Token limit", exact=True).fill("8k")
    await page.get_by_role("button", name="Change …").click()
    await expect(page.locator(".question")).to_be_visible()
    await tenant.budget("session:s1", limit_tokens=20_000)
    await page.get_by_role("button", name="Yes, change it").click()
    await expect(page.locator("form.decide .problem")).to_contain_text(
        "Someone else has changed this budget in the meantime"
    )
    assert (await tenant.policies.budget(tenant.name, Scope.parse("session:s1"))).policy.limit_tokens == 20_000


async def test_only_admins_change_budgets(tenant: Tenant) -> None:
    await a_tree(tenant)
    page = await tenant.page("/budgets?scope=session:s1", role=Role.APPROVER, name="anna")
    await expect(page.locator(".reason")).to_contain_text("changing them takes admin")
    await expect(page.get_by_role("button", name="Change …")).to_have_count(0)


async def test_what_is_spent_appears_without_reload(tenant: Tenant) -> None:
    await a_tree(tenant)
    page = await tenant.page("/budgets?kind=session&scope=session:s2")
    await expect(row(page, "session:s2")).to_contain_text("100 of 1k")
    await spend(tenant, "session:s2", tokens=250)
    await expect(row(page, "session:s2")).to_contain_text("350 of 1k")


async def test_empty_tenant_has_no_budgets_yet(tenant: Tenant) -> None:
    page = await tenant.page("/budgets")
    await expect(page.locator(".empty")).to_contain_text("No budget has been used yet")
    await check_accessibility(page)


async def test_a_further_limit_leads_to_the_session_that_it_limits(tenant: Tenant) -> None:
    await tenant.budget("session:s1@day", limit_tokens=9_000, mode="hard")
    client = await tenant.client(name="backend")
    message = {"role": "user", "content": "Hello."}
    assert (await client.post("/v1/sessions/s1/messages", json={"messages": [message]})).is_success
    await spend(tenant, "session:s1", tokens=500)
    page = await tenant.page("/budgets?scope=session:s1@day")
    await expect(page.locator("#detail")).to_contain_text("500")
    await page.get_by_role("link", name="open the session").click()
    await expect(page).to_have_url(re.compile(r"/sessions/s1$"))
    await expect(page.locator("main")).to_contain_text("Hello.")
