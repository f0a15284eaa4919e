"""`/v1/policies`: one document of all policies and templates."""

import json
from datetime import UTC, datetime, timedelta

import httpx

from purser.gateway.access.roles import Role
from purser.gateway.http.bodies import MAX_BODY
from tests.gateway.conftest import RunningGateway

DOCUMENT = {"session:*": {"limit_usd": "0.5", "mode": "hard"}, "user:u1": {"limit_tokens": 7}}
STORED = {"session:*": {"limit_nano_usd": 500_000_000, "mode": "hard"}, "user:u1": {"limit_tokens": 7}}


async def test_a_document_is_shown_first_then_applied_and_exported(admin: httpx.AsyncClient) -> None:
    planned = (await admin.put("/v1/policies", json={"policies": DOCUMENT, "dry_run": True})).json()
    changes = [{"name": name, "action": "create", "before": None, "after": fields} for name, fields in STORED.items()]
    assert planned == {"changes": changes, "applied": False}
    assert (await admin.get("/v1/policies")).json() == {"policies": {}}
    assert (await admin.put("/v1/policies", json={"policies": DOCUMENT})).json() == {
        "changes": changes,
        "applied": True,
    }
    exported = (await admin.get("/v1/policies")).json()
    assert exported == {"policies": STORED}
    again = (await admin.put("/v1/policies", json=exported | {"prune": True})).json()
    assert again == {"changes": [], "applied": True}


async def test_a_document_may_be_as_large_as_that_of_an_organization(admin: httpx.AsyncClient) -> None:
    many = {f"user:{number}": {"limit_tokens": 10_000, "mode": "hard"} for number in range(2_000)}
    assert len(json.dumps(many)) > MAX_BODY
    planned = await admin.put("/v1/policies", json={"policies": many, "dry_run": True})
    assert len(planned.json()["changes"]) == len(many)


async def test_a_budget_names_the_template_of_a_field_and_a_hold_obeys_it(admin: httpx.AsyncClient) -> None:
    await admin.put("/v1/policies", json={"policies": {"session:*": {"limit_tokens": 10, "mode": "hard"}}})
    shown = (await admin.get("/v1/budgets/session:new")).json()
    assert (shown["limit_tokens"], shown["sources"]["limit_tokens"]) == (10, "template session:*")
    hold = {"key": "k", "path": ["session:new"], "tokens": 11}
    assert (await admin.post("/v1/holds", json=hold)).json()["verdict"] == "refuse"
    removed = (await admin.put("/v1/policies", json={"policies": {"session:*": None}})).json()
    assert [change["action"] for change in removed["changes"]] == ["remove"]
    assert (await admin.post("/v1/holds", json=hold)).json()["verdict"] == "allow"


async def test_what_is_wrong_is_named_and_nothing_is_stored(admin: httpx.AsyncClient) -> None:
    wrong = {"session:ok": {"limit_tokens": 1}, "agent:*/writer": {"limit_token": 1}}
    answer = await admin.put("/v1/policies", json={"policies": wrong})
    assert answer.status_code == 422
    assert "policy 'agent:*/writer'" in answer.json()["detail"]
    assert "limit_token" in answer.json()["detail"]
    other = await admin.put("/v1/policies", json={"policies": {"tenant:other": {"limit_tokens": 1}}})
    assert other.status_code == 403
    assert (await admin.get("/v1/policies")).json() == {"policies": {}}


async def test_readers_may_export_and_only_admins_apply(gateway: RunningGateway) -> None:
    for role, read, write in ((Role.VIEWER, 200, 403), (Role.APPROVER, 200, 403), (Role.AGENT, 403, 403)):
        client = await gateway.client(role)
        assert (await client.get("/v1/policies")).status_code == read
        assert (await client.put("/v1/policies", json={"policies": {}})).status_code == write


async def test_a_replay_shows_each_step_of_a_ladder_and_what_it_cannot_know(gateway: RunningGateway) -> None:
    agent, viewer = await gateway.client(Role.AGENT), await gateway.client(Role.VIEWER)
    since = datetime.now(UTC) - timedelta(minutes=1)
    ask = {"key": "k1", "path": ["session:s1"], "tokens": 1_000, "model": "priced-model"}
    held = (await agent.post("/v1/holds", json=ask)).json()
    report = {"attempt": 1, "usage": {"input": 100, "output": 700}}
    await agent.post(f"/v1/holds/{held['hold_id']}/settle", json=report)
    ladder = [{"ratio": 0.5, "output": 300}]
    body = {"policies": {"session:s1": {"limit_tokens": 1_000, "ladder": ladder}}, "since": since.isoformat()}
    found = (await viewer.post("/v1/policies/replay", json=body)).json()
    assert (found["total"]["eased"], found["total"]["eased_tokens"]) == (1, 400)
    [line] = found["scopes"]
    assert line["ladder"] == [
        {"step": 1, "ratio": 0.5, "calls": 1, "unknown": 0, "saved_tokens": 400, "saved_nano_usd": 1_600_000}
    ]
    assert "what a cheaper model would have answered" in " ".join(found["not_known"])
    plain = (await viewer.post("/v1/policies/replay", json=body | {"policies": {}})).json()
    assert "cheaper" not in " ".join(plain["not_known"])


async def test_a_replay_shows_what_policies_would_have_done_and_stores_nothing(gateway: RunningGateway) -> None:
    agent, viewer = await gateway.client(Role.AGENT), await gateway.client(Role.VIEWER)
    since = datetime.now(UTC) - timedelta(minutes=1)
    for number in range(3):
        held = (await agent.post("/v1/holds", json={"key": f"k{number}", "path": ["session:s1"], "tokens": 40})).json()
        await agent.post(f"/v1/holds/{held['hold_id']}/settle", json={"attempt": 1, "usage": {"total": 40}})
    body = {"policies": {"session:*": {"limit_tokens": 80, "mode": "hard"}}, "since": since.isoformat()}
    found = (await viewer.post("/v1/policies/replay", json=body)).json()
    assert (found["calls"], found["total"]["refused"], found["total"]["saved_tokens"]) == (3, 1, 40)
    assert [(line["scope"], line["refused"]) for line in found["scopes"]] == [("session:s1", 1)]
    assert (await viewer.get("/v1/policies")).json() == {"policies": {}}
    assert (await agent.post("/v1/policies/replay", json=body)).status_code == 403
    long_ago = await viewer.post("/v1/policies/replay", json=body | {"since": "2020-01-01T00:00:00Z"})
    assert long_ago.status_code == 422
