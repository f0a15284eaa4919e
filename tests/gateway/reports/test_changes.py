"""`/v1/changes`: every change over HTTP is recorded with its key and the values before and after."""

from typing import Any

import httpx
import pytest

from purser.gateway.access.roles import Role
from tests.gateway.conftest import RunningGateway

CANARY = "CANARY-90ff"
TICKET = "https://tickets.example.com/4711"


async def changes(client: httpx.AsyncClient, **wanted: str) -> list[dict[str, Any]]:
    answer = await client.get("/v1/changes", params=wanted)
    assert answer.status_code == 200, answer.text
    return list(answer.json()["items"])


async def test_a_policy_is_shown_as_it_was_and_as_it_is(admin: httpx.AsyncClient) -> None:
    await admin.put("/v1/budgets/session:s1", json={"limit_tokens": 5, "mode": "hard"})
    await admin.put("/v1/budgets/session:s1", json={"limit_tokens": 7, "mode": None})
    await admin.put("/v1/budgets/session:s1", json={"limit_tokens": 7})
    first, second = reversed(await changes(admin, target="session:s1"))
    assert (first["action"], first["by"]) == ("policy.set", "ada")
    assert (first["before"], first["after"]) == (None, {"limit_tokens": 5, "mode": "hard"})
    assert (second["before"], second["after"]) == ({"limit_tokens": 5, "mode": "hard"}, {"limit_tokens": 7})


async def test_every_kind_of_change_is_there_with_the_key_that_made_it(
    gateway: RunningGateway, admin: httpx.AsyncClient, task_queue: str
) -> None:
    key_id = (await admin.get("/v1/keys")).json()["items"][0]["key_id"]
    message = {"messages": [{"role": "user", "content": CANARY}]}
    await admin.post("/v1/sessions/s1/messages", json=message)
    await admin.put("/v1/sessions/s1/pins/1", json={"reason": CANARY})
    await admin.delete("/v1/sessions/s1/pins/1")
    await admin.put("/v1/sessions/s1/settings", json={"tone": CANARY})
    await admin.put("/v1/retention", json={"days": 30})
    await admin.delete("/v1/sessions/s1")
    made = (await admin.post("/v1/keys", json={"name": "carol", "role": "viewer", "expires_in_s": 60})).json()
    await admin.delete(f"/v1/keys/{made['key_id']}")
    await admin.put("/v1/budgets/session:s2", json={"limit_tokens": 5, "mode": "approval"})
    ask = {"key": "k1", "path": ["session:s2"], "tokens": 50}
    approval_id = (await admin.post("/v1/holds", json=ask)).json()["approval_id"]
    decision = {"decision_id": "d1", "decision": "approve", "note": CANARY, "ticket_url": TICKET}
    assert (await admin.post(f"/v1/approvals/{approval_id}/decision", json=decision)).status_code == 200
    task_id = f"t-{task_queue[5:]}"
    agents = [{"id": "a", "model": "priced-model", "instructions": CANARY}]
    await admin.post("/v1/tasks", json={"session_id": "s3", "task_id": task_id, "input": CANARY, "agents": agents})
    assert (await admin.post(f"/v1/tasks/{task_id}/pause")).status_code == 202

    mine = await changes(admin, by="ada")
    assert [change["action"] for change in reversed(mine)] == [
        "pin.set", "pin.end", "settings.set", "retention.set", "session.delete", "key.create", "key.revoke",
        "policy.set", "approval.approve", "task.pause",
    ]  # fmt: skip
    assert {change["key_id"] for change in mine} == {key_id}
    by_action = {change["action"]: change for change in mine}
    assert by_action["approval.approve"]["target"] == f"approval:{approval_id}"
    assert by_action["approval.approve"]["after"]["grant_tokens"] == 45
    assert by_action["approval.approve"]["after"]["ticket_url"] == TICKET
    assert by_action["key.create"]["after"]["role"] == "viewer"
    assert by_action["task.pause"]["target"] == f"task:{task_id}"
    text = (await admin.get("/v1/changes")).text
    assert CANARY not in text
    assert made["key"] not in text


async def test_what_changes_nothing_leaves_no_change(gateway: RunningGateway, admin: httpx.AsyncClient) -> None:
    await admin.put("/v1/budgets/session:s1", json={"limit_tokens": 5})
    made = (await admin.post("/v1/keys", json={"name": "carol", "role": "viewer"})).json()
    await admin.delete(f"/v1/keys/{made['key_id']}")
    before = await gateway.rows()
    await admin.put("/v1/budgets/session:s1", json={"limit_tokens": 5})
    await admin.delete(f"/v1/keys/{made['key_id']}")
    await admin.post("/v1/keys", json={"name": "ada", "role": "viewer"})
    await admin.put("/v1/budgets/session:s1", json={"timezone": "Nowhere/Land"})
    assert (await gateway.rows())["changes"] == before["changes"]


async def test_pages_go_on_where_the_last_one_ended(admin: httpx.AsyncClient) -> None:
    for number in range(5):
        await admin.put(f"/v1/budgets/session:s{number}", json={"limit_tokens": 5})
    found: list[str] = []
    cursor: str | None = None
    for _ in range(3):
        params = {"action": "policy.set", "limit": "2"} | ({"cursor": cursor} if cursor else {})
        page = (await admin.get("/v1/changes", params=params)).json()
        found += [change["target"] for change in page["items"]]
        cursor = page["cursor"]
    assert found == [f"session:s{number}" for number in (4, 3, 2, 1, 0)]
    assert cursor is None


@pytest.mark.parametrize(
    ("params", "named"),
    [
        ({"from": "yesterday"}, "from"),
        ({"to": "2026-01-01"}, "to"),
        ({"cursor": "x"}, "cursor"),
        ({"limit": "0"}, "limit"),
    ],
)
async def test_a_bad_filter_is_named(admin: httpx.AsyncClient, params: dict[str, str], named: str) -> None:
    answer = await admin.get("/v1/changes", params=params)
    assert (answer.status_code, answer.json()["field"]) == (422, named)


async def test_a_range_that_ends_before_it_begins_is_refused_as_in_other_reports(admin: httpx.AsyncClient) -> None:
    for report in ("changes?", "ledger?", "usage?by=day&"):
        answer = await admin.get(f"/v1/{report}from=2026-11-21T00:00:00Z&to=2026-11-20T00:00:00Z")
        assert answer.status_code == 422
        assert "exchange them" in answer.json()["detail"]


async def test_agents_do_not_see_changes(agent: httpx.AsyncClient, gateway: RunningGateway) -> None:
    assert (await agent.get("/v1/changes")).status_code == 403
    assert (await (await gateway.client(Role.VIEWER)).get("/v1/changes")).status_code == 200


# --- who may approve what he submitted -------------------------------------------------------------------------------


@pytest.mark.parametrize("named", ["zoe", None])
async def test_the_submitting_key_of_a_task_in_anothers_name_is_stored(
    admin: httpx.AsyncClient, task_queue: str, named: str | None
) -> None:
    agents = [{"id": "a", "model": "priced-model", "instructions": "x"}]
    task_id = f"t-{task_queue[5:]}"
    body = {"session_id": "s1", "task_id": task_id, "input": "x", "agents": agents}
    assert (await admin.post("/v1/tasks", json=body | ({"submitter": named} if named else {}))).status_code == 202
    shown = (await admin.get(f"/v1/tasks/{task_id}")).json()
    assert (shown["submitter"], shown["submitted_by"]) == (named or "ada", "ada")
