"""Several requests decided together on the page, and desktop notifications."""

import asyncio
import re

import httpx
import pytest
from playwright.async_api import expect

from purser.gateway.access.roles import Role
from purser.gateway.dashboard.approvals import page as approvals_page
from tests.gateway.conftest import RunningGateway
from tests.gateway.dashboard.acting import WITHIN_S, act, open_page, until_shown
from tests.gateway.dashboard.approvals.test_page import asks, grants, rows, state
from tests.gateway.dashboard.conftest import Tenant
from tests.gateway.dashboard.test_full import FULL
from tests.gateway.dashboard.test_streams import Opened, next_update, opened
from tests.support.servers.browser import NARROW, check_accessibility, in_both_themes, shot

RECORD = """() => {
  window.shown = [];
  window.Notification = class {
    static permission = "granted";
    static requestPermission = async () => "granted";
    constructor(title, { body, tag }) { window.shown.push([title, body, tag]); }
  };
}"""


async def test_selected_requests_are_decided_with_one_note_and_each_result_is_shown(tenant: Tenant) -> None:
    ids = [await asks(tenant, f"s{number}", approval={"deadline_s": 1_000 + 100 * number}) for number in range(3)]
    ids.append(await asks(tenant, "admins-only", approval={"deadline_s": 2_000, "roles": ["admin"]}))
    page = await tenant.page(role=Role.APPROVER, name="anna")
    await expect(rows(page)).to_have_count(4)
    await page.get_by_label("Scope, task or agent").fill("t-s")
    await expect(rows(page)).to_have_count(3)
    await page.get_by_role("checkbox", name="Select session:s1").click()
    await expect(page.locator(".together")).to_contain_text("1 selected")
    # What the filter hides is not selected any more.
    await page.get_by_label("Scope, task or agent").fill("s0")
    await expect(rows(page)).to_have_count(1)
    await page.get_by_label("Scope, task or agent").fill("")
    await expect(rows(page)).to_have_count(4)
    await expect(page.locator(".together")).to_contain_text("None selected")
    await page.get_by_label("Group by session or task").check()
    await expect(page.locator(".group")).to_have_count(4)
    await page.keyboard.press("Escape")
    await page.get_by_label("Group by session or task").blur()
    await page.keyboard.press("x")
    await page.get_by_role("button", name="Select the requests of session:s1").click()
    await page.get_by_role("checkbox", name="Select session:admins-only").press("Space")
    await expect(page.locator(".together")).to_contain_text("3 selected")
    await page.get_by_label("One note for all").fill("Quarter end.")
    await in_both_themes(page, "approvals-together")
    await page.get_by_role("button", name="Approve each …").click()
    await expect(page.locator("#confirm-each")).to_be_focused()
    assert await grants(tenant) == []
    await shot(page, "approvals-together-sure")
    await page.keyboard.press("Enter")
    results = page.locator(".results li")
    await expect(results).to_have_count(3)
    await expect(page.locator(".results .good")).to_have_count(2)
    await expect(page.locator(".results .bad")).to_contain_text("one of the roles admin")
    assert [await state(tenant, one) for one in ids] == ["approved", "approved", "pending", "pending"]
    notes = await tenant.pool.fetch("select note, decision_id from decisions where tenant = $1", tenant.name)
    assert [row["note"] for row in notes] == ["Quarter end."] * 2
    await check_accessibility(page)
    await shot(page, "approvals-together-results")
    narrow = await tenant.page(role=Role.APPROVER, name="bert", size=NARROW)
    await narrow.get_by_role("button", name="Select all 2").click()
    await expect(narrow.locator(".together")).to_contain_text("2 selected")
    await check_accessibility(narrow)
    await shot(narrow, "approvals-together-narrow")


async def test_a_new_request_is_announced_only_where_notifications_are_on(tenant: Tenant) -> None:
    page = await tenant.page(role=Role.APPROVER, name="anna")
    await page.evaluate(RECORD)
    await asks(tenant, "silent")
    await expect(rows(page)).to_have_count(1)
    button = page.get_by_role("button", name="Notify me")
    await button.click()
    await expect(button).to_have_attribute("aria-pressed", "true")
    loud = await asks(tenant, "loud")
    await expect(rows(page)).to_have_count(2)
    assert await page.evaluate("window.shown") == [
        ["Approval needed", "session:loud is short of 500 tokens", loud],
    ]


async def hold(agent: httpx.AsyncClient, session: str, tokens: int) -> str:
    """A call that is short in a session; returns the id of the request that it joins."""
    path = [f"session:{session}", f"task:{tokens}"]
    asked = await agent.post("/v1/holds", json={"key": f"{session}-{tokens}", "path": path, "tokens": tokens})
    return str(asked.json()["approval_id"])


def text_of(markup: str) -> str:
    """What a person reads."""
    return " ".join(re.sub(r"<[^>]+>", "", markup).split())


async def test_only_what_the_question_named_is_granted_although_more_is_missing_by_then(
    gateway: RunningGateway, admin: httpx.AsyncClient, agent: httpx.AsyncClient
) -> None:
    for session in ("s0", "s1"):
        await admin.put(f"/v1/budgets/session:{session}", json={"limit_tokens": 100, "mode": "approval"})
        await hold(agent, session, 500)
    page = await opened(gateway, "ed")
    await page.act("pick-all")
    await page.act("approve-each")
    asked = text_of(await until_shown(page, "Are you sure?"))
    assert "Grant 2 requests what each is short of, 800 tokens in total?" in asked
    await hold(agent, "s0", 5_000_000)
    asked = text_of(await until_shown(page, "was short of"))
    assert "2 selected, short of 5,000,800 tokens in total" in asked
    assert "Grant 2 requests what each was short of, 800 tokens in total?" in asked
    await page.act("confirm-each")
    await until_shown(page, "2 requests decided.")
    views = [(await admin.get(f"/v1/budgets/session:{session}")).json() for session in ("s0", "s1")]
    assert [view["tokens"]["granted"] for view in views] == [400, 400]


class TestMore:
    """60 requests: ten more than the page lists at first."""

    @pytest.fixture
    async def page(self, gateway: RunningGateway) -> Opened:
        await gateway.pool.execute(FULL.replace("'full'", "'default'").replace("(1, 500)", "(1, 60)"))
        return await open_page(gateway, "/approvals", name="ed")

    async def test_a_filter_says_how_many_more_match_and_shows_them(
        self, page: Opened, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert "10 more wait." in text_of(page.html)
        await act(page, "filter", {"q": "planner"})
        first = text_of(await until_shown(page, "10 more match."))
        assert "Select the 50 shown" in first
        assert "The filter looks through" not in first
        monkeypatch.setattr(approvals_page, "MOST", 51)
        await act(page, "filter", {"q": "planner", "grouped": "on"})
        cut = text_of(await until_shown(page, "1 more matches."))
        assert "The filter looks through the 51 requests with the soonest deadlines only." in cut
        await act(page, "more")
        assert "Select all 51" in text_of(await until_shown(page, "Select all"))

    @pytest.mark.parametrize(
        "acts",
        [
            pytest.param([], id="more wait than are listed"),
            pytest.param([("filter", {"q": "session-6"}), ("filter", {"q": "planner"})], id="a filter"),
            pytest.param([("more", {})], id="all are listed"),
            pytest.param([("tab", {"tab": "decided"})], id="decided ones are listed"),
        ],
    )
    async def test_whatever_the_list_shows_only_a_new_request_is_announced(
        self, page: Opened, admin: httpx.AsyncClient, agent: httpx.AsyncClient, acts: list[tuple[str, dict[str, str]]]
    ) -> None:
        for name, given in acts:
            await act(page, name, given, **given)
        policy = {"limit_tokens": 100, "mode": "approval", "approval": {"deadline_s": 80_000}}
        await admin.put("/v1/budgets/session:new", json=policy)
        approval_id = await hold(agent, "new", 500)
        async with asyncio.timeout(WITHIN_S):
            announced = await next_update(page, "notify", page.number)
        assert announced == {
            "title": "Approval needed",
            "text": "session:new is short of 400 tokens",
            "id": approval_id,
        }
