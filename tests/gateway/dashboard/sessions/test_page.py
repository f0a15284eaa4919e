"""The pages of sessions: compressions, pins, explanations, search and threads."""

import re
from typing import Any

import httpx
from playwright.async_api import Locator, Page, expect

from purser.gateway.access.roles import Role
from tests.gateway.dashboard.conftest import Tenant
from tests.gateway.dashboard.tasks.test_page import HOSTILE
from tests.support.context.conversations import talk
from tests.support.servers.browser import NARROW, check_accessibility, in_both_themes, shot


async def a_session(tenant: Tenant, messages: int = 60, budget: int = 900) -> str:
    """Creates a session with a long conversation and compresses it once; returns its id."""
    client, session_id = await tenant.client(Role.ADMIN), tenant.named("s")
    said: list[dict[str, Any]] = [message.to_dict() for message in talk(messages)]
    await append(client, session_id, said)
    answer = await client.post(f"/v1/sessions/{session_id}/compress", json={"budget": budget}, timeout=60)
    assert answer.json()["version"] == 1, answer.text
    await append(client, session_id, said[:4])
    return session_id


async def append(client: httpx.AsyncClient, session_id: str, messages: list[dict[str, Any]]) -> None:
    assert (await client.post(f"/v1/sessions/{session_id}/messages", json=messages)).is_success


def message(page: Page, seq: int) -> Locator:
    """A message in the list."""
    return page.locator(f'li.message[data-key="m{seq}"]')


async def test_a_session_is_found_and_shows_a_compression_next_to_what_it_covers(tenant: Tenant) -> None:
    session_id = await a_session(tenant)
    page = await tenant.page("/sessions")
    await expect(page.locator("tbody tr")).to_have_count(1)
    await in_both_themes(page, "sessions")
    await page.get_by_role("link", name=session_id).click()
    await expect(page.get_by_role("img", name=re.compile("Stored tokens over time")).locator("svg")).to_be_visible()
    stored = await tenant.pool.fetchrow("select * from summaries where tenant = $1", tenant.name)
    assert stored is not None
    row = page.get_by_role("region", name="Compressions").locator("tbody tr")
    await expect(row).to_contain_text(f"{stored['first_seq']} to {stored['last_seq']}")
    await expect(row).to_contain_text("request")
    await row.get_by_role("button", name="Compare version 1").click()
    covered = page.get_by_role("region", name="Messages that version 1 covers")
    await expect(covered.locator(".line")).to_have_count(25)
    await expect(covered).to_contain_text(f"#{stored['first_seq']} ")
    await expect(page.get_by_role("region", name="Summary version 1")).to_contain_text(stored["text"].strip()[:60])
    await shot(page, "dashboard-session")
    await in_both_themes(page, "session-compared")
    await covered.get_by_role("button", name="Show more of them").click()
    whole = stored["last_seq"] - stored["first_seq"] + 1
    await expect(covered.locator(".line")).to_have_count(min(50, whole))
    await row.get_by_role("button", name="Compare version 1").click()
    await expect(covered).to_have_count(0)


async def test_the_list_of_sessions_is_narrowed_by_a_part_of_an_id(tenant: Tenant) -> None:
    client = await tenant.client(Role.ADMIN)
    for session_id in ("orders-1", "orders-2", "returns-1"):
        await append(client, session_id, [{"role": "user", "content": "Hello."}])
    page = await tenant.page("/sessions")
    rows = page.locator("tbody tr")
    await expect(rows).to_have_count(3)
    await page.get_by_label("Search in ids of sessions and users").fill("ORDERS")
    await page.keyboard.press("Enter")
    await expect(rows).to_have_count(2)
    await page.goto("/sessions?q=nothing-is-called-so")
    await expect(rows).to_have_count(0)


async def test_a_message_is_pinned_with_a_reason_and_unpinned(tenant: Tenant) -> None:
    session_id = await a_session(tenant)
    page = await tenant.page(f"/sessions/{session_id}", name="ada")
    await message(page, 61).get_by_role("button", name="Pin message 61").click()
    form = page.locator(".pin-form")
    await form.get_by_label("Reason").fill("<b>legal</b> asked for it")
    await form.get_by_label("For so many hours").fill("soon")
    await form.get_by_role("button", name="Pin", exact=True).click()
    await expect(form.get_by_role("alert")).to_contain_text("Write hours as a number")
    await expect(form.get_by_label("Reason")).to_have_value("<b>legal</b> asked for it")
    await check_accessibility(page)
    await shot(page, "session-pin")
    await form.get_by_label("For so many hours").fill("1.5")
    await page.keyboard.press("Enter")
    pins = page.get_by_role("region", name="Pins")
    await expect(pins).to_contain_text("<b>legal</b> asked for it")
    await expect(pins).to_contain_text("ada")
    await expect(message(page, 61)).to_contain_text("pinned")
    row = await tenant.pool.fetchrow(
        "select author, until - pinned_at as span from pins where tenant = $1", tenant.name
    )
    assert row is not None
    assert row["author"] == "ada"
    assert abs(row["span"].total_seconds() - 5_400) < 60
    await pins.get_by_role("button", name="Unpin message 61").click()
    await expect(page.get_by_text("No message is pinned.")).to_be_visible()
    acts = await tenant.pool.fetch(
        "select c.action, c.by, k.name as key from changes c left join keys k using (key_id)"
        " where c.tenant = $1 order by c.change_id",
        tenant.name,
    )
    assert [tuple(act) for act in acts][-2:] == [("pin.set", "ada", "ada"), ("pin.end", "ada", "ada")]


async def test_any_message_is_explained_and_found_by_what_it_says(tenant: Tenant) -> None:
    session_id = await a_session(tenant)
    page = await tenant.page(f"/sessions/{session_id}")
    await message(page, 64).get_by_role("button", name="Explain message 64").click()
    await expect(message(page, 64).locator(".explained")).to_contain_text("newer than what summary version 1 covers")
    while await message(page, 20).count() == 0:
        newest = str(await page.locator("li.message").last.get_attribute("data-key"))
        await page.get_by_role("button", name="Older", exact=True).click()
        await expect(page.locator("li.message").last).not_to_have_attribute("data-key", newest)
    await message(page, 20).get_by_role("button", name="Explain message 20").click()
    await expect(message(page, 20).locator(".explained")).to_contain_text("covered by summary version 1")
    await page.get_by_role("button", name="Newest", exact=True).click()
    await expect(message(page, 64)).to_be_visible()
    await page.get_by_label("Search this session").fill("Where does order 1012 go?")
    await page.keyboard.press("Enter")
    found = page.get_by_role("list", name="Found messages")
    await expect(found).to_contain_text("order 1012 goes to Haven 12")
    assert "1012" not in page.url
    await expect(page.get_by_role("region", name="Facts", exact=True)).to_contain_text("1012")
    await in_both_themes(page, "session-found")


async def test_threads_of_agents_are_listed_next_to_the_conversation(tenant: Tenant) -> None:
    task_id = await tenant.submit(
        tenant.agent("reader", "I have read it."), session_id=(session_id := tenant.named("s"))
    )
    await tenant.until_task(task_id, "completed")
    page = await tenant.page(f"/sessions/{session_id}")
    chips = page.get_by_role("navigation", name="Conversations of this session")
    await chips.get_by_role("link", name=f"{task_id}/reader").click()
    await expect(page.locator(".messages")).to_contain_text("I have read it.")
    await expect(page.get_by_text("Nothing has been compressed")).to_be_visible()


async def test_viewers_cannot_pin_and_a_revoked_permission_counts_at_the_click(tenant: Tenant) -> None:
    session_id = await a_session(tenant)
    viewer = await tenant.page(f"/sessions/{session_id}", Role.VIEWER, "vera")
    await expect(message(viewer, 61)).to_be_visible()
    await expect(viewer.get_by_role("button", name=re.compile("^Pin message"))).to_have_count(0)
    page = await tenant.page(f"/sessions/{session_id}", name="ada")
    await message(page, 61).get_by_role("button", name="Pin message 61").click()
    await tenant.pool.execute("update keys set role = 'viewer' where tenant = $1 and name = 'ada'", tenant.name)
    await page.locator(".pin-form").get_by_role("button", name="Pin", exact=True).click()
    await expect(page.get_by_text("may not change sessions: it takes agent or admin")).to_be_visible()
    assert await tenant.pool.fetchval("select count(*) from pins where tenant = $1", tenant.name) == 0


async def test_sessions_of_other_tenants_and_deleted_ones_are_not_there(tenant: Tenant) -> None:
    session_id = await a_session(tenant)
    stranger = Tenant(tenant.stack, f"{tenant.name}-other", tenant.browser, tenant.watch, tenant.open)
    page = await stranger.page(f"/sessions/{session_id}")
    await expect(page.get_by_text("There is no such session")).to_be_visible()
    await page.goto("/sessions")
    await expect(page.get_by_text("No sessions yet")).to_be_visible()
    await check_accessibility(page)
    assert (await (await tenant.client(Role.ADMIN)).delete(f"/v1/sessions/{session_id}")).is_success
    own = await tenant.page(f"/sessions/{session_id}")
    await expect(own.get_by_text("This session was deleted")).to_be_visible()


async def test_hostile_texts_stay_texts_and_out_of_title_and_address(tenant: Tenant) -> None:
    client, session_id = await tenant.client(Role.ADMIN), tenant.named("s")
    long = HOSTILE * 40
    arguments = '{"x": "<script>document.title=1</script>"}'
    call = {"id": "c1", "type": "function", "function": {"name": "look_up", "arguments": arguments}}
    await append(
        client,
        session_id,
        [
            {"role": "user", "content": HOSTILE, "name": "<i>eve</i>"},
            {"role": "assistant", "content": long},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "content": HOSTILE, "tool_call_id": "c1"},
        ],
    )
    page = await tenant.page(f"/sessions/{session_id}", size=NARROW)
    await expect(message(page, 1)).to_contain_text("<script>document.title='owned'</script>")
    await expect(message(page, 1)).to_contain_text("<i>eve</i>")
    await expect(message(page, 3)).to_contain_text(arguments)
    await expect(message(page, 2).locator("pre")).to_be_hidden()
    await message(page, 2).locator("summary").click()
    await expect(message(page, 2).locator("pre")).to_be_visible()
    assert await page.title() == "Sessions · Purser"
    assert page.url.endswith(session_id)
    assert (
        await page.locator("main img[src=x], main a[href^=javascript], main script, main h1:text('Pwned')").count() == 0
    )
    assert await page.evaluate("document.documentElement.scrollWidth") <= NARROW[0]
    await check_accessibility(page)
    await shot(page, "session-narrow", full=True)
