"""The page of approvals, used as a person does, with real tasks."""

import re
from datetime import UTC, datetime
from typing import Any

import pytest
from playwright.async_api import Page, expect

from purser.budget.postgres.approvals.approvals import Approvals
from purser.budget.postgres.ledger.settings import LedgerSettings
from purser.gateway.access.roles import Role
from tests.gateway.dashboard.conftest import Tenant
from tests.support.servers.browser import NARROW, check_accessibility, in_both_themes, shot
from tests.support.world import eventually


async def parked(tenant: Tenant, **policy: Any) -> str:
    """Submits a real task that exceeds its session's budget and waits for approval; returns its id."""
    task_id = tenant.named("t")
    rules = {"limit_tokens": 60, "mode": "approval"} | policy
    await tenant.budget(f"session:s-{task_id}", **rules)
    body = {"session_id": f"s-{task_id}", "task_id": task_id, "input": "Say something.", "agents": [tenant.agent()]}
    answer = await (await tenant.client(name="backend")).post("/v1/tasks", json=body)
    assert answer.is_success, answer.text
    await tenant.until_task(task_id, "waiting_approval")
    return task_id


async def asks(tenant: Tenant, session: str, **policy: Any) -> str:
    """A caller over HTTP exceeds a session's 1,000 tokens by 500; returns the id of its request."""
    await tenant.budget(f"session:{session}", **({"limit_tokens": 1_000, "mode": "approval"} | policy))
    client = await tenant.client(name="backend")
    path = [f"session:{session}", f"task:t-{session}", f"agent:t-{session}/planner"]
    held = (await client.post("/v1/holds", json={"key": f"{session}-1", "path": path, "tokens": 900})).json()
    used = {"attempt": 1, "usage": {"total": 900}, "nano_usd": 0}
    await client.post(f"/v1/holds/{held['hold_id']}/settle", json=used)
    asked = (await client.post("/v1/holds", json={"key": f"{session}-2", "path": path, "tokens": 600})).json()
    assert asked["verdict"] == "ask", asked
    return str(asked["approval_id"])


async def asked(tenant: Tenant) -> Page:
    """The page of `anna`, with one request."""
    await asks(tenant, tenant.named("s"))
    return await tenant.page(role=Role.APPROVER, name="anna")


async def state(tenant: Tenant, approval_id: str) -> str:
    """The state of a request."""
    found = await Approvals(tenant.pool, LedgerSettings()).get(tenant.name, approval_id)
    return str(found.state)


async def grants(tenant: Tenant) -> list[int]:
    """Tokens of all grants of the tenant, in order."""
    rows = await tenant.pool.fetch(
        "select g.tokens from grants g join scopes s using (tenant, scope_id) where s.tenant = $1 order by grant_id",
        tenant.name,
    )
    return [row["tokens"] for row in rows]


def rows(page: Page) -> Any:
    """The requests in the list."""
    return page.locator(".rows .request")


async def test_task_over_budget_appears_by_itself_and_continues_after_approval_in_the_browser(tenant: Tenant) -> None:
    page = await tenant.page(role=Role.APPROVER, name="anna")
    await expect(page.get_by_text("Nothing is waiting for you")).to_be_visible()
    await in_both_themes(page, "approvals-empty")
    task_id = await parked(tenant)
    await expect(rows(page)).to_have_count(1)
    await expect(page.locator("nav .badge")).to_have_text("1")
    await page.get_by_role("button", name="Approve", exact=True).click()
    await expect(page.locator(".outcome")).to_contain_text("You approved")
    assert await tenant.until_task(task_id, "completed", "failed", "refused") == "completed"
    await expect(page.get_by_text("Nothing is waiting for you")).to_be_visible()
    await expect(page.locator("nav .badge")).to_have_count(0)


async def test_denied_task_is_refused(tenant: Tenant) -> None:
    task_id = await parked(tenant)
    page = await tenant.page(role=Role.APPROVER, name="anna")
    await page.get_by_label("Note, for the record").fill("Not tonight.")
    await page.get_by_role("button", name="Deny …").click()
    await expect(page.locator(".question")).to_contain_text("cannot be undone")
    await page.get_by_role("button", name="Yes, deny").click()
    await expect(page.locator(".outcome")).to_contain_text("You denied this")
    await expect(page.locator(".decisions")).to_contain_text("Not tonight.")
    assert await tenant.until_task(task_id, "completed", "failed", "refused") == "refused"


async def test_request_that_no_one_decides_expires_on_the_open_page(tenant: Tenant) -> None:
    page = await tenant.page(role=Role.APPROVER, name="anna")
    task_id = await parked(tenant, approval={"deadline_s": 3})
    await expect(page.locator(".outcome")).to_contain_text("No one decided in time")
    assert await tenant.until_task(task_id, "completed", "failed", "refused") == "refused"
    await page.get_by_role("button", name="Decided").click()
    await expect(rows(page).first).to_contain_text("expired")


async def test_part_of_what_is_missing_lets_the_task_ask_again(tenant: Tenant) -> None:
    task_id = await parked(tenant)
    page = await tenant.page(role=Role.APPROVER, name="anna")
    await page.get_by_label("Tokens to grant").fill("5")
    await page.get_by_role("button", name="Approve", exact=True).click()
    await expect(page.locator(".outcome")).to_contain_text("approved 5 tokens")
    await expect(rows(page)).to_have_count(1)  # it asks for the rest
    await rows(page).first.click()
    await page.get_by_role("button", name="Approve", exact=True).click()
    assert await tenant.until_task(task_id, "completed", "failed", "refused") == "completed"
    assert (await grants(tenant))[0] == 5


async def test_large_grants_take_two_people(tenant: Tenant) -> None:
    session = tenant.named("s")
    approval_id = await asks(tenant, session, approval={"two_people_above_tokens": 100})
    anna = await tenant.page(role=Role.APPROVER, name="anna")
    bert = await tenant.page(role=Role.APPROVER, name="bert")
    await expect(anna.locator(".people")).to_contain_text("0 of 2 approvals")
    await anna.get_by_role("button", name="Approve", exact=True).click()
    await expect(anna.locator(".people")).to_contain_text("anna has approved 876 tokens; another person is needed")
    await expect(anna.get_by_role("button", name="Approve", exact=True)).to_be_disabled()
    await expect(anna.locator(".reason")).to_contain_text("Your approval is recorded")
    await shot(anna, "approvals-one-of-two")
    await check_accessibility(anna)
    assert await state(tenant, approval_id) == "pending"
    await expect(bert.locator(".people")).to_contain_text("1 of 2 approvals")
    await bert.get_by_role("button", name="Approve", exact=True).click()
    await expect(anna.locator(".outcome")).to_contain_text("bert approved 876 tokens")
    assert await state(tenant, approval_id) == "approved"
    assert await grants(tenant) == [876]


async def test_the_form_counts_what_the_approver_has_granted_already(tenant: Tenant) -> None:
    session = tenant.named("s")
    await asks(tenant, session, approval={"two_people_above_tokens": 900})
    anna = await tenant.page(role=Role.APPROVER, name="anna")
    await anna.get_by_role("button", name="Approve", exact=True).click()
    await expect(anna.locator(".outcome")).to_contain_text("You approved 876 tokens")
    client = await tenant.client(name="backend")
    path = [f"session:{session}", f"task:t-{session}", f"agent:t-{session}/planner"]
    held = (await client.post("/v1/holds", json={"key": f"{session}-2", "path": path, "tokens": 600})).json()
    used = {"attempt": 1, "usage": {"total": 600}, "nano_usd": 0}
    await client.post(f"/v1/holds/{held['hold_id']}/settle", json=used)
    asked = (await client.post("/v1/holds", json={"key": f"{session}-3", "path": path, "tokens": 500})).json()
    there = f"/approvals?id={asked['approval_id']}"
    bert = await tenant.page(there, role=Role.APPROVER, name="bert")
    await expect(bert.get_by_label("Tokens to grant")).to_be_visible()
    await expect(bert.locator(".people")).to_have_count(0)
    await anna.goto(there)
    await expect(anna.locator(".people")).to_contain_text("With the 876 tokens that you have granted here, a grant")
    await shot(anna, "approvals-granted-already")
    await anna.get_by_role("button", name="Approve", exact=True).click()
    await expect(anna.locator(".people")).to_contain_text("1 of 2 approvals")
    await bert.get_by_role("button", name="Approve", exact=True).click()
    await expect(anna.locator(".outcome")).to_contain_text("bert approved 625 tokens")


async def test_second_person_can_grant_what_the_first_one_agreed_to_although_something_else_is_short(
    tenant: Tenant,
) -> None:
    rules = {"two_people_above_tokens": 100, "two_people_above_nano_usd": 100}
    approval_id = await asks(tenant, tenant.named("s"), approval=rules)
    body = {"decision_id": "d1", "decision": "approve", "grant_nano_usd": 1_000_000_000}
    bob = await tenant.client(Role.APPROVER, "bob")
    assert (await bob.post(f"/v1/approvals/{approval_id}/decision", json=body)).json()["decisions_needed"] == 1
    page = await tenant.page(role=Role.APPROVER, name="anna")
    await expect(page.locator(".people")).to_contain_text("bob has approved $1.00; another person is needed")
    await page.get_by_role("button", name="Approve", exact=True).click()
    await expect(page.locator("form.decide .problem")).to_contain_text("The approvals have no amount in common")
    await page.get_by_label("Tokens to grant").fill("")
    await page.get_by_label("Dollars to grant").fill("0.25")
    await page.get_by_role("button", name="Approve", exact=True).click()
    await page.get_by_role("button", name="Yes, approve").click()
    await expect(page.locator(".outcome")).to_be_visible()
    assert await state(tenant, approval_id) == "approved"


async def test_submitter_of_the_task_cannot_decide_and_sees_why(tenant: Tenant) -> None:
    await asks(tenant, tenant.named("s"), approval={"not_submitter": True})
    page = await tenant.page(role=Role.ADMIN, name="backend")
    await expect(page.locator(".reason")).to_contain_text("another person has to decide")
    await expect(page.get_by_role("button", name="Approve", exact=True)).to_be_disabled()
    await expect(page.get_by_role("button", name="Deny")).to_be_disabled()
    await expect(rows(page).first).to_contain_text("not yours")


async def test_viewer_sees_and_cannot_decide(tenant: Tenant) -> None:
    await asks(tenant, tenant.named("s"))
    page = await tenant.page(role=Role.VIEWER, name="vera")
    await expect(page.locator(".reason")).to_contain_text("Your role viewer may look")
    await expect(page.get_by_role("button", name="Approve", exact=True)).to_be_disabled()


async def test_two_people_who_click_at_once_decide_once(tenant: Tenant) -> None:
    session = tenant.named("s")
    approval_id = await asks(tenant, session)
    anna = await tenant.page(role=Role.APPROVER, name="anna")
    bert = await tenant.page(role=Role.APPROVER, name="bert")
    buttons = [page.get_by_role("button", name="Approve", exact=True) for page in (anna, bert)]
    for button in buttons:
        await expect(button).to_be_enabled()
    # Neither page has time to receive the other's click: each clicks by itself, at the same time.
    at = await anna.evaluate("Date.now() + 1_500")
    for button in buttons:
        await button.evaluate("(button, at) => setTimeout(() => button.click(), at - Date.now())", at)
    for page in (anna, bert):
        await expect(page.locator(".outcome")).to_contain_text("approved 876 tokens")
    assert await state(tenant, approval_id) == "approved"
    assert await grants(tenant) == [876]
    decided = await Approvals(tenant.pool, LedgerSettings()).get(tenant.name, approval_id)
    [winner] = [decision.approver for decision in decided.decisions]
    late, in_time = (bert, anna) if winner == "anna" else (anna, bert)
    # The outcome may come as an event, before the answer to the click that says this.
    await expect(late.locator(".toast")).to_contain_text(
        re.compile(rf"Too late: {winner} approved 876 tokens \d+ s ago")
    )
    assert await in_time.locator(".toast", has_text="Too late").count() == 0


async def test_two_clicks_of_one_person_decide_once(tenant: Tenant) -> None:
    page = await asked(tenant)
    await page.get_by_role("button", name="Approve", exact=True).dblclick()
    await expect(page.locator(".outcome")).to_contain_text("You approved")
    assert await grants(tenant) == [876]
    assert await page.locator(".toast", has_text="Too late").count() == 0


async def test_more_than_the_limit_asks_for_confirmation(tenant: Tenant) -> None:
    page = await asked(tenant)
    await page.get_by_label("Tokens to grant").fill("50k")
    await page.get_by_role("button", name="Approve", exact=True).click()
    await expect(page.locator(".question")).to_contain_text("Grant 50,000 tokens? That is more than the limit itself.")
    assert await grants(tenant) == []
    await shot(page, "approvals-sure")
    await page.get_by_role("button", name="Back", exact=True).click()
    await expect(page.get_by_role("button", name="Approve", exact=True)).to_be_visible()
    await page.get_by_role("button", name="Approve", exact=True).click()
    await page.get_by_role("button", name="Yes, approve").click()
    await expect(page.locator(".outcome")).to_be_visible()
    assert await grants(tenant) == [50_000]


async def test_another_amount_than_the_one_asked_about_takes_the_question_away(tenant: Tenant) -> None:
    page = await asked(tenant)
    await page.get_by_label("Tokens to grant").fill("50k")
    await page.get_by_role("button", name="Approve", exact=True).click()
    await expect(page.locator(".question")).to_contain_text("Grant 50,000 tokens?")
    await page.get_by_label("Tokens to grant").fill("600")
    await expect(page.locator(".question")).to_have_count(0)
    await page.get_by_role("button", name="Approve", exact=True).click()
    await expect(page.locator(".outcome")).to_contain_text("You approved 600 tokens")
    assert await grants(tenant) == [600]


async def test_an_amount_that_changes_as_the_question_is_answered_is_not_the_old_one(tenant: Tenant) -> None:
    """The browser sends what is typed at the next pause only."""
    page = await asked(tenant)
    await page.get_by_label("Tokens to grant").fill("50k")
    await page.get_by_role("button", name="Approve", exact=True).click()
    await expect(page.locator(".question")).to_contain_text("Grant 50,000 tokens?")
    changed_and_answered = "input => { input.value = '600'; document.getElementById('confirm').click(); }"
    await page.get_by_label("Tokens to grant").evaluate(changed_and_answered)
    await expect(page.locator(".outcome")).to_contain_text("You approved 600 tokens")
    assert await grants(tenant) == [600]


@pytest.mark.parametrize(("key", "answer"), [("a", "Yes, approve"), ("d", "Yes, deny")])
async def test_a_note_and_an_end_that_follow_the_question_are_recorded(tenant: Tenant, key: str, answer: str) -> None:
    approval_id = await asks(tenant, tenant.named("s"))
    page = await tenant.page(role=Role.APPROVER, name="anna")
    await page.keyboard.press(key)
    await expect(page.locator("#confirm")).to_be_focused()
    await page.get_by_label("Until").select_option("60")
    await page.get_by_label("Note, for the record").fill("see incident 7")
    await page.get_by_role("button", name=answer).click()
    await expect(page.locator(".outcome")).to_be_visible()
    [decision] = (await Approvals(tenant.pool, LedgerSettings()).get(tenant.name, approval_id)).decisions
    assert decision.note == "see incident 7"
    assert (decision.until is not None) == (key == "a")


async def test_the_effect_for_a_second_person_is_that_of_the_smaller_amount(tenant: Tenant) -> None:
    approval_id = await asks(tenant, tenant.named("s"), approval={"two_people_above_tokens": 100})
    body = {"decision_id": "d1", "decision": "approve", "grant_tokens": 600}
    bob = await tenant.client(Role.APPROVER, "bob")
    await bob.post(f"/v1/approvals/{approval_id}/decision", json=body)
    page = await tenant.page(role=Role.APPROVER, name="anna")
    await expect(page.locator(".people")).to_contain_text("the smaller amount is granted")
    await expect(page.get_by_label("Tokens to grant")).to_have_value("876")
    effect = await page.locator(".effect").inner_text()
    await page.get_by_label("Tokens to grant").fill("550")
    await expect(page.locator(".effect")).not_to_have_text(effect)
    await page.get_by_label("Tokens to grant").fill("600")
    await expect(page.locator(".effect")).to_have_text(effect)


async def test_grant_can_end_at_a_time(tenant: Tenant) -> None:
    page = await asked(tenant)
    await page.get_by_label("Until").select_option("60")
    await page.get_by_role("button", name="Approve", exact=True).click()
    await expect(page.locator(".decisions")).to_contain_text("until")
    ends = await tenant.pool.fetchval(
        "select until from grants g join scopes s using (tenant, scope_id) where s.tenant = $1", tenant.name
    )
    assert 55 < (ends - datetime.now(UTC)).total_seconds() / 60 < 61


@pytest.mark.parametrize("typed", ["much", "-5", "1.5", ""])
async def test_invalid_amount_is_reported_and_nothing_is_decided(tenant: Tenant, typed: str) -> None:
    page = await asked(tenant)
    await page.get_by_label("Tokens to grant").fill(typed)
    await page.get_by_role("button", name="Approve", exact=True).click()
    await expect(page.locator(".problem")).to_be_visible()
    assert await page.get_by_label("Tokens to grant").input_value() == typed
    assert await grants(tenant) == []


async def test_keys_move_ask_for_confirmation_and_leave_typing_alone(tenant: Tenant) -> None:
    first = await asks(tenant, tenant.named("s"), approval={"deadline_s": 600})
    second = await asks(tenant, tenant.named("s"), approval={"deadline_s": 900})
    page = await tenant.page(role=Role.APPROVER, name="anna")
    await expect(rows(page).nth(0)).to_have_attribute("aria-current", "true")
    await page.keyboard.press("j")
    await expect(rows(page).nth(1)).to_have_attribute("aria-current", "true")
    await expect(page).to_have_url(re.compile(second))
    await page.keyboard.press("k")
    await expect(rows(page).nth(0)).to_have_attribute("aria-current", "true")
    await page.keyboard.press("n")
    await expect(page.get_by_label("Note, for the record")).to_be_focused()
    await page.keyboard.type("jad?")
    await expect(page.get_by_label("Note, for the record")).to_have_value("jad?")
    await expect(page.locator(".question")).to_have_count(0)
    await page.get_by_label("Note, for the record").blur()
    await page.keyboard.press("?")
    await expect(page.get_by_role("dialog")).to_be_visible()
    await check_accessibility(page)
    await page.keyboard.press("Escape")
    await page.keyboard.press("d")
    await expect(page.locator(".question")).to_contain_text("Deny?")
    await page.keyboard.press("Escape")
    await expect(page.locator(".question")).to_have_count(0)
    await page.keyboard.press("a")
    await expect(page.locator("#confirm")).to_be_focused()
    assert await grants(tenant) == []
    await page.keyboard.press("Enter")
    await expect(page.locator(".outcome")).to_contain_text("You approved 876 tokens")
    await expect(page.get_by_role("button", name="Next request")).to_be_focused()
    assert await state(tenant, first) == "approved"
    assert await state(tenant, second) == "pending"


async def test_link_opens_its_request(tenant: Tenant) -> None:
    await asks(tenant, tenant.named("s"), approval={"deadline_s": 600})
    wanted = await asks(tenant, tenant.named("s"), approval={"deadline_s": 900})
    page = await tenant.page(f"/approvals?id={wanted}", role=Role.APPROVER, name="anna")
    await expect(rows(page).nth(1)).to_have_attribute("aria-current", "true")
    await page.goto("/approvals?id=00000000-0000-0000-0000-000000000000")
    await expect(page.locator(".detail")).to_contain_text("There is no such request")
    client = await tenant.client(Role.APPROVER, "api")
    link = str((await client.get(f"/v1/approvals/{wanted}")).json()["link"])
    await page.goto(link)
    await expect(rows(page).nth(1)).to_have_attribute("aria-current", "true")
    await page.goto(f"{link[:-9]}{'A' * 9}")
    await expect(page.get_by_role("alert").filter(has_text="This link is not valid")).to_be_visible()
    await check_accessibility(page)
    assert await state(tenant, wanted) == "pending"


async def test_a_link_brings_its_request_into_view_on_a_phone(tenant: Tenant) -> None:
    wanted, *_ = [await asks(tenant, tenant.named("s")) for _ in range(3)]
    page = await tenant.page(f"/approvals?id={wanted}", role=Role.APPROVER, name="anna", size=NARROW)
    await eventually(lambda: page.evaluate("scrollY > 0"))
    await expect(page.locator("#detail")).to_be_in_viewport()


async def test_requests_of_another_tenant_are_not_shown(tenant: Tenant) -> None:
    approval_id = await asks(tenant, tenant.named("s"))
    stranger = Tenant(tenant.stack, f"{tenant.name}-other", tenant.browser, tenant.watch)
    async with stranger.open:
        page = await stranger.page(f"/approvals?id={approval_id}")
        await expect(page.locator(".detail")).to_contain_text("There is no such request")
        await expect(page.locator("body")).not_to_contain_text("planner")


async def test_typed_text_survives_updates_of_the_page(tenant: Tenant) -> None:
    await asks(tenant, tenant.named("s"), approval={"deadline_s": 600})
    page = await tenant.page(role=Role.APPROVER, name="anna")
    await page.get_by_label("Note, for the record").fill("half a sent")
    await page.get_by_label("Tokens to grant").fill("123")
    await asks(tenant, tenant.named("s"), approval={"deadline_s": 900})
    await expect(rows(page)).to_have_count(2)
    assert await page.get_by_label("Note, for the record").input_value() == "half a sent"
    assert await page.get_by_label("Tokens to grant").input_value() == "123"


async def test_names_and_notes_are_shown_as_text(tenant: Tenant) -> None:
    page = await asked(tenant)
    await page.get_by_label("Note, for the record").fill("<img src=x onerror=alert(1)><b>bold</b>")
    await page.get_by_role("button", name="Approve", exact=True).click()
    await expect(page.locator(".decisions blockquote")).to_have_text("<img src=x onerror=alert(1)><b>bold</b>")


async def test_a_ticket_is_a_link_and_no_other_address_is_taken(tenant: Tenant) -> None:
    page = await asked(tenant)
    await page.get_by_label("Ticket, a web address").fill("javascript:alert(1)")
    await page.get_by_role("button", name="Approve", exact=True).click()
    await expect(page.locator("form.decide .problem")).to_contain_text("use an http or https address")
    await page.get_by_label("Ticket, a web address").fill("https://tickets.example.com/4711")
    await page.get_by_role("button", name="Approve", exact=True).click()
    link = page.locator(".decisions").get_by_role("link", name="Ticket")
    await expect(link).to_have_attribute("href", "https://tickets.example.com/4711")


async def test_looks_right_with_several_requests(tenant: Tenant) -> None:
    for number, deadline in enumerate((240, 700, 1_800, 7_200)):
        rules = {"deadline_s": deadline} | ({"two_people_above_tokens": 100} if number == 2 else {})
        await asks(tenant, f"research-{number}", approval=rules)
    page = await tenant.page(role=Role.APPROVER, name="anna")
    await expect(rows(page)).to_have_count(4)
    await in_both_themes(page, "approvals")
    narrow = await tenant.page(role=Role.APPROVER, name="bert", size=NARROW)
    await expect(rows(narrow)).to_have_count(4)
    await check_accessibility(narrow)
    await shot(narrow, "approvals-narrow-full", full=True)


async def test_revoked_key_stops_acting_on_the_open_page(tenant: Tenant) -> None:
    approval_id = await asks(tenant, tenant.named("s"))
    page = await tenant.page(role=Role.APPROVER, name="anna")
    await expect(page.get_by_role("button", name="Approve", exact=True)).to_be_enabled()
    await tenant.pool.execute(
        "update keys set revoked_at = now(), revoked_by = 'test' where tenant = $1 and name = 'anna'", tenant.name
    )
    await page.get_by_role("button", name="Approve", exact=True).click()

    async def left() -> bool:
        return "/sign-in" in page.url or await page.get_by_text("Your sign-in has ended").count() > 0

    await eventually(left)
    tenant.watch.complaints.clear()  # the socket was closed on purpose
    assert await state(tenant, approval_id) == "pending"
    assert await grants(tenant) == []
