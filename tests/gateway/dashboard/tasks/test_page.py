"""The pages of tasks: the list, one task with its progress, and actions on it."""

import re
import uuid

from playwright.async_api import Page, expect

from purser.compose.demo.provider import Reply
from purser.gateway.access.roles import Role
from tests.gateway.dashboard.conftest import Tenant
from tests.support.agents import MODEL
from tests.support.servers.browser import NARROW, check_accessibility, in_both_themes, shot
from tests.support.world import calls, eventually

APPROVAL = {"limit_tokens": 10, "mode": "approval"}
HOSTILE = (
    "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\"> "
    "[click](javascript:document.title='owned') **bold** </td></tr></table><h1>Pwned</h1>"
)


async def many_tasks(tenant: Tenant, count: int) -> None:
    """Inserts rows of tasks, every fourth completed, with ids in the order of their number."""
    await tenant.pool.execute(
        "insert into tasks (tenant, task_id, session_id, body, digest, submitter, status, input_seq, submitted_at,"
        " ended_at)"
        " select $1, $1 || '-' || to_char(n, 'fm00000'), 's-' || n % 7, '{}', '', (array['mia', 'jonas'])[1 + n % 2],"
        " case when n % 4 = 0 then 'completed' else 'running' end, 1, now() - n * interval '1 minute',"
        " case when n % 4 = 0 then now() end from generate_series(1, $2) n",
        tenant.name, count,
    )  # fmt: skip
    await tenant.pool.execute(
        "insert into agents (tenant, task_id, agent_id, position)"
        " select tenant, task_id, 'a', 1 from tasks where tenant = $1",
        tenant.name,
    )


async def asked(tenant: Tenant, task_id: str) -> str:
    """Waits for the approval request of a task; returns its id."""
    await tenant.until_task(task_id, "waiting_approval")
    return str(
        await eventually(
            lambda: tenant.pool.fetchval(
                "select approval_id from approvals where state = 'pending' and tenant = $1", tenant.name
            )
        )
    )


async def confirm(page: Page, act: str) -> None:
    """Clicks a button, and confirms in the dialog."""
    await page.get_by_role("button", name=act, exact=True).click()
    await page.locator("dialog[open]").get_by_role("button", name=act, exact=True).click()


async def test_a_task_is_found_among_thousands_by_state_search_and_paging(tenant: Tenant) -> None:
    await many_tasks(tenant, 2_000)
    page = await tenant.page("/tasks")
    rows = page.locator("tbody tr")
    await expect(rows).to_have_count(50)
    await expect(rows.first).to_contain_text("02000")
    await expect(page.get_by_role("navigation", name="State")).to_contain_text(re.compile("All 2,000.*Completed 500"))
    await in_both_themes(page, "tasks")
    await page.get_by_role("link", name="Older").click()
    await expect(rows.first).to_contain_text("01950")
    await page.get_by_role("link", name=re.compile("Completed")).click()
    await expect(rows.first.locator(".tag")).to_have_text("completed")
    await page.get_by_label("Search in ids").fill("00042")
    await page.keyboard.press("Enter")
    await expect(page.get_by_text("No task matches")).to_be_visible()
    await page.get_by_role("link", name=re.compile("^All")).click()
    await expect(rows).to_have_count(1)
    await expect(rows.first).to_contain_text(f"{tenant.name}-00042")


async def test_a_list_without_tasks_says_how_to_begin(tenant: Tenant) -> None:
    page = await tenant.page("/tasks")
    await expect(page.get_by_text("No tasks yet")).to_be_visible()
    await check_accessibility(page)


async def test_a_task_is_followed_without_reload_from_its_request_to_its_end(tenant: Tenant) -> None:
    await tenant.budget("session:slow", limit_tokens=60, backpressure=[["0.50", 150]])
    task_id = await tenant.submit(
        tenant.agent("plan", calls("no_such_tool"), "First read, then write. " * 30),
        tenant.agent("read", "It says that prices rise.", depends_on=["plan"]),
        tenant.agent("write", "Prices rise.", depends_on=["plan", "read"], budget=APPROVAL),
        session_id="slow",
    )
    approval_id = await asked(tenant, task_id)
    page = await tenant.page(f"/tasks/{task_id}")
    await expect(page.locator(".facts")).to_contain_text("waiting for approval")
    turns = page.get_by_role("region", name="Turns").locator("tbody tr")
    await expect(turns).to_have_count(4)
    await expect(turns.first).to_contain_text("asked")
    await expect(turns.first.get_by_role("link", name="asked")).to_have_attribute(
        "href", f"/approvals?id={approval_id}"
    )
    client = await tenant.client(Role.APPROVER, "olga")
    decision = {"decision_id": uuid.uuid4().hex, "decision": "approve", "grant_tokens": 5_000}
    await client.post(f"/v1/approvals/{approval_id}/decision", json=decision)
    await expect(page.locator(".facts")).to_contain_text("completed")
    for text in ("asked", "olga", "admitted", "delayed", "called", "settled"):
        await expect(turns.first).to_contain_text(text)
    await expect(page.get_by_role("img", name=re.compile("Timeline of the turns"))).to_be_visible()
    await expect(page.get_by_role("img", name=re.compile("write .* waits for plan, read"))).to_be_visible()
    total = await tenant.pool.fetchval(
        "select sum(b.spent_tokens) from balances b join scopes s using (tenant, scope_id)"
        " where s.tenant = $1 and s.kind = 'task' and s.id = $2", tenant.name, task_id,
    )  # fmt: skip
    costs = page.get_by_role("region", name="Cost by agent and model")
    await expect(costs.locator("tr.sum")).to_contain_text(f"{total:,}")
    await expect(costs).to_contain_text(MODEL)
    await expect(page.locator(".budget")).to_have_count(6)  # tenant, session, task and three agents
    workflow = page.get_by_role("link", name=f"task-{tenant.name}/{task_id}")
    address = f"http://127.0.0.1:9/namespaces/default/workflows/task-{tenant.name}%2F{task_id}"
    await expect(workflow).to_have_attribute("href", address)
    await shot(page, "dashboard-task")
    await in_both_themes(page, "task")
    await shot(page, "task-whole", full=True)


async def test_a_task_is_readable_on_a_narrow_screen(tenant: Tenant) -> None:
    task_id = await tenant.submit(tenant.agent("a", "Done. " * 200), tenant.agent("b", depends_on=["a"]))
    await tenant.until_task(task_id, "completed")
    page = await tenant.page(f"/tasks/{task_id}", size=NARROW)
    await expect(page.get_by_role("region", name="Turns")).to_be_visible()
    assert await page.evaluate("document.documentElement.scrollWidth") <= NARROW[0]
    await check_accessibility(page)
    await shot(page, "task-narrow", full=True)


async def test_a_task_is_paused_resumed_and_cancelled_after_confirmation_and_each_is_recorded(tenant: Tenant) -> None:
    await tenant.budget("session:full", limit_tokens=1_000, mode="hard")
    held = await (await tenant.client()).post("/v1/holds", json={"key": "k", "path": ["session:full"], "tokens": 990})
    assert held.json()["verdict"] in ("allow", "warn")
    task_id = await tenant.submit(tenant.agent("a"), session_id="full")
    page = await tenant.page(f"/tasks/{task_id}", name="ada")
    await page.get_by_role("button", name="Pause", exact=True).click()
    await shot(page, "task-question")
    await check_accessibility(page)
    await page.keyboard.press("Escape")
    assert await tenant.task_state(task_id) == "running"
    for act, state in (("Pause", "paused"), ("Resume", "running")):
        await confirm(page, act)
        await expect(page.locator(".facts .tag")).to_have_text(state)
    await confirm(page, "Cancel task")
    await expect(page.locator(".facts .tag")).to_have_text("cancelled")
    await expect(page.get_by_role("button", name="Pause")).to_have_count(0)
    recorded = await tenant.pool.fetch(
        "select c.by, c.action, k.name as key from changes c left join keys k using (key_id)"
        " where c.tenant = $1 and c.target = $2 order by c.change_id",
        tenant.name, f"task:{task_id}",
    )  # fmt: skip
    steered = [tuple(row) for row in recorded if row["action"] != "task.submit"]
    assert steered == [("ada", f"task.{act}", "ada") for act in ("pause", "resume", "cancel")]


async def test_viewers_see_no_buttons_and_a_revoked_permission_counts_at_the_click(
    tenant: Tenant,
) -> None:
    await tenant.budget("session:full", limit_tokens=10, mode="approval")
    task_id = await tenant.submit(tenant.agent("a"), session_id="full")
    await tenant.until_task(task_id, "waiting_approval")
    viewer = await tenant.page(f"/tasks/{task_id}", Role.VIEWER, "vera")
    await expect(viewer.get_by_text("not steer them")).to_be_visible()
    await expect(viewer.get_by_role("button", name="Pause")).to_have_count(0)
    page = await tenant.page(f"/tasks/{task_id}", name="ada")
    await expect(page.get_by_role("button", name="Pause")).to_be_visible()
    await tenant.pool.execute("update keys set role = 'viewer' where tenant = $1 and name = 'ada'", tenant.name)
    await confirm(page, "Pause")
    await expect(page.get_by_text("may not steer tasks: it takes agent or admin")).to_be_visible()
    assert await tenant.task_state(task_id) == "waiting_approval"


async def test_a_task_of_another_tenant_is_not_there(tenant: Tenant) -> None:
    await many_tasks(tenant, 1)
    stranger = Tenant(tenant.stack, f"{tenant.name}-other", tenant.browser, tenant.watch, tenant.open)
    page = await stranger.page(f"/tasks/{tenant.name}-00001")
    await expect(page.get_by_text("There is no such task")).to_be_visible()
    await shot(page, "task-missing")
    await page.goto("/tasks")
    await expect(page.get_by_text("No tasks yet")).to_be_visible()


async def test_texts_of_models_are_text_and_nothing_else(tenant: Tenant) -> None:
    task_id = await tenant.submit(tenant.agent("a", Reply(content=HOSTILE)), input=HOSTILE)
    await tenant.until_task(task_id, "completed")
    page = await tenant.page(f"/tasks/{task_id}")
    reply = page.get_by_role("region", name="Agents")
    await expect(reply).to_contain_text("<script>document.title='owned'</script>")
    await expect(reply).to_contain_text("**bold**")
    assert await page.title() == "Tasks · Purser"
    assert await page.locator("main img[src=x], main a[href^=javascript], main script").count() == 0
    await expect(page.get_by_role("heading", name="Pwned")).to_have_count(0)


async def test_a_task_whose_session_was_deleted_still_shows_its_figures(tenant: Tenant) -> None:
    task_id = await tenant.submit(tenant.agent("a"), session_id=(session_id := tenant.named("s")))
    await tenant.until_task(task_id, "completed")
    assert (await (await tenant.client(Role.ADMIN)).delete(f"/v1/sessions/{session_id}")).status_code == 200
    page = await tenant.page(f"/tasks/{task_id}")
    await expect(page.get_by_role("region", name="Turns").locator("tbody tr")).to_have_count(1)
    await expect(page.get_by_role("region", name="Agents")).to_contain_text("none yet")
