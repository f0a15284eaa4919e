"""Templates and new budgets on the page of budgets."""

import re

import pytest

from purser.budget.scopes import Scope
from purser.gateway.access.roles import Role
from purser.gateway.dashboard.budgets import tree
from tests.gateway.conftest import RunningGateway
from tests.gateway.dashboard.acting import act, open_page, until_shown


async def test_a_template_is_created_changed_and_removed_after_confirmation(gateway: RunningGateway) -> None:
    page = await open_page(gateway, "/budgets?scope=session:*")
    admin = await gateway.client(Role.ADMIN, name="other")
    assert "It matches no scope yet" in page.html
    await act(page, "template", {"limit_tokens": "5k", "mode": "hard"})
    assert "not set</s> → <b>5,000 tokens" in await until_shown(page, "Before and after")
    assert (await admin.get("/v1/policies")).json()["policies"] == {}
    part = re.findall(r'data-part="(r\d+)"', page.html[: page.html.index('data-act="template"')])[-1]
    await act(page, "confirm", part=part)
    stored = (await admin.get("/v1/policies")).json()["policies"]
    assert stored == {"session:*": {"limit_tokens": 5_000, "mode": "hard"}}
    budget = (await admin.get("/v1/budgets/session:s1")).json()
    assert (budget["limit_tokens"], budget["sources"]["mode"]) == (5_000, "template session:*")
    assert "by <b>ada" in await until_shown(page, "Changes of this policy")
    await act(page, "remove", part=part)
    await act(page, "confirm", part=part)
    assert (await admin.get("/v1/policies")).json()["policies"] == {}


async def test_a_template_that_someone_else_changed_is_not_overwritten(gateway: RunningGateway) -> None:
    page = await open_page(gateway, "/budgets?scope=session:*")
    admin = await gateway.client(Role.ADMIN, name="other")
    await act(page, "template", {"limit_tokens": "5k"})
    await admin.put("/v1/policies", json={"policies": {"session:*": {"limit_tokens": 7_000}}})
    part = re.findall(r'data-part="(r\d+)"', page.html[: page.html.index('data-act="template"')])[-1]
    await act(page, "confirm", part=part)
    assert "in the meantime" in await until_shown(page, "Someone else has changed this template")
    assert (await admin.get("/v1/policies")).json()["policies"]["session:*"] == {"limit_tokens": 7_000}


async def test_a_scope_that_was_never_used_gets_a_budget(gateway: RunningGateway) -> None:
    page = await open_page(gateway, "/budgets")
    admin = await gateway.client(Role.ADMIN, name="other")
    await act(page, "open", {"name": "nothing"})
    assert "has no kind" in await until_shown(page, 'role="alert"')
    await act(page, "open", {"name": " user:eve "})
    shown = await until_shown(page, 'data-act="change"')
    part = re.findall(r'data-part="(r\d+)"', page.html)[-2]
    assert 'name="approval.deadline_s"' in shown
    await act(page, "change", {"limit_tokens": "1k", "window": "day", "approval.deadline_s": "2 h"}, part=part)
    await act(page, "confirm", part=part)
    budget = (await admin.get("/v1/budgets/user:eve")).json()
    assert (budget["limit_tokens"], budget["window"], budget["approval"]["deadline_s"]) == (1_000, "day", 7_200)
    assert {name for name, source in budget["sources"].items() if source == "stored"} == {
        "limit_tokens",
        "window",
        "approval",
    }
    await act(page, "reset", part=part, field="window")
    await act(page, "confirm", part=part)
    assert (await admin.get("/v1/budgets/user:eve")).json()["window"] == "lifetime"


async def test_only_admins_are_offered_new_budgets_and_change_templates(gateway: RunningGateway) -> None:
    page = await open_page(gateway, "/budgets?scope=session:*", Role.APPROVER, "anna")
    assert 'data-act="open"' not in page.html
    assert "<fieldset disabled" in page.html
    part = re.findall(r'data-part="(r\d+)"', page.html[: page.html.index('data-act="template"')])[-1]
    await act(page, "template", {"limit_tokens": "5k"}, part=part)
    await act(page, "confirm", part=part)
    assert "may not change budgets" in await until_shown(page, "Your role approver may not")
    admin = await gateway.client(Role.ADMIN, name="other")
    assert (await admin.get("/v1/policies")).json()["policies"] == {}


async def test_the_most_used_budget_comes_first(gateway: RunningGateway, monkeypatch: pytest.MonkeyPatch) -> None:
    admin, agent = await gateway.client(Role.ADMIN, name="other"), await gateway.client(Role.AGENT, name="b")
    for name, limit in (("low", 1_000), ("over", 100), ("half", 400), ("free", None)):
        if limit:
            await admin.put(f"/v1/budgets/session:{name}", json={"limit_tokens": limit, "mode": "soft"})
        hold = {"key": name, "path": [str(Scope.parse(f"session:{name}"))], "tokens": 200}
        assert (await agent.post("/v1/holds", json=hold)).json()["verdict"] in ("allow", "warn")
    page = await open_page(gateway, "/budgets")
    assert re.findall(r'<tr data-key="(session:\w+)"', page.html) == [
        "session:over",
        "session:half",
        "session:low",
        "session:free",
    ]
    monkeypatch.setattr(tree, "LEVEL", 1)
    page = await open_page(gateway, "/budgets?over=0.2", name="ed")
    assert re.findall(r'<tr data-key="(session:\w+)"', page.html) == ["session:over", "session:half"]
