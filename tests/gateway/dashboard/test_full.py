"""Pages of a tenant with a lot of data."""

import pytest
from playwright.async_api import expect

from purser.gateway.access.roles import Role
from tests.gateway.dashboard.conftest import Tenant
from tests.support.servers.browser import shot

FULL = """
with made as (
    insert into scopes (tenant, kind, id) select 'full', 'session', 'session-' || n from generate_series(1, 500) n
    returning tenant, scope_id, id
), limited as (
    insert into policies (tenant, scope_id, limit_tokens, mode, updated_by, updated_at)
    select tenant, scope_id, 1000, 'approval', 'test', now() from made
), balanced as (
    insert into balances (tenant, scope_id, window_start, spent_tokens, limit_tokens, mode, updated_at)
    select tenant, scope_id, '-infinity', 900, 1000, 'approval', now() from made
), held as (
    insert into holds (tenant, key, path, task, state, asked_tokens, created_at)
    select 'full', id, array['session:' || id], 'task-' || id, 'none', 600, now() from made
), asked as (
    insert into approvals (approval_id, tenant, scope_id, window_start, state, asked_tokens, asked_nano, rules,
                           created_at, deadline)
    select 'approval-' || scope_id, 'full', scope_id, '-infinity', 'pending', 500, 0,
           '{"roles": ["approver"], "deadline_s": 3600}', now(), now() + interval '1 hour' + scope_id * interval '10 s'
    from made
)
insert into approval_waiters (approval_id, tenant, key, task_id, agent_id, submitter, tokens, nano, since)
select 'approval-' || scope_id, 'full', id, 'task-' || id, 'planner', 'sam', 600, 0, now() from made
"""
TASKS = """
with made as (
    insert into tasks (tenant, task_id, session_id, body, digest, submitter, input_seq)
    select 'full', 'many-' || n, 's-' || n % 3000, '{}', '\\x00', 'sam', 1
    from generate_series(1, 10000) n returning task_id
), working as (
    insert into agents (tenant, task_id, agent_id, position) select 'full', task_id, 'a', 1 from made
)
insert into scopes (tenant, kind, id) select 'full', 'task', task_id from made
"""
FORGET = """
with gone as (delete from balances where scope_id in (select scope_id from scopes where tenant = $1))
delete from policies where scope_id in (select scope_id from scopes where tenant = $1)
"""
"""Removes balances without entries: other tests audit all tenants."""


@pytest.mark.proof
async def test_a_first_page_of_10000_tasks_and_500_pending_approvals_can_be_used(tenant: Tenant) -> None:
    tenant.open.push_async_callback(tenant.pool.execute, FORGET, tenant.name)
    await tenant.pool.execute(FULL.replace("'full'", f"'{tenant.name}'"))
    await tenant.pool.execute(TASKS.replace("'full'", f"'{tenant.name}'"))
    page = await tenant.page("/", role=Role.APPROVER, name="anna")
    await page.locator(".rows .request").nth(1).click()
    await expect(page.locator(".rows .request").nth(1)).to_have_attribute("aria-current", "true")
    await expect(page.locator("nav .badge")).to_have_text("500")
    await expect(page.locator(".more")).to_contain_text("450 more wait")
    await page.get_by_role("button", name="Show 50 more").click()
    await expect(page.locator(".rows .request")).to_have_count(100)
    await page.goto("/budgets")
    await expect(page.locator(".scopes-table")).to_contain_text("Show more")
    await shot(page, "budgets-full")
