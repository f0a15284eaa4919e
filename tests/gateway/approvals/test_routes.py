"""`/v1/approvals`: an overspend is requested and decided, and the same ask is then admitted."""

import asyncio
from typing import Any

import httpx

from purser.gateway.access.roles import Role
from tests.gateway.conftest import RunningGateway

ASK = {"key": "k1", "path": ["session:s1", "task:t1"], "tokens": 700}
TICKET = "https://tickets.example.com/4711"


async def ask(client: httpx.AsyncClient, **change: Any) -> dict[str, Any]:
    return dict((await client.post("/v1/holds", json=ASK | change)).json())


async def short(admin: httpx.AsyncClient, agent: httpx.AsyncClient, **rules: Any) -> str:
    """A session with a limit of 500 in mode approval, and an ask for 700; returns the approval's id."""
    policy = {"limit_tokens": 500, "mode": "approval", "approval": rules}
    assert (await admin.put("/v1/budgets/session:s1", json=policy)).status_code == 200
    answer = await ask(agent)
    assert (answer["verdict"], answer["hold_id"]) == ("ask", None)
    assert answer["approval_id"] in answer["remedy"]
    return str(answer["approval_id"])


async def decide(client: httpx.AsyncClient, approval_id: str, decision: str = "approve", **more: Any) -> httpx.Response:
    body = {"decision_id": f"d-{decision}", "decision": decision} | more
    return await client.post(f"/v1/approvals/{approval_id}/decision", json=body)


async def test_an_approved_ask_goes_through_under_its_key(admin: httpx.AsyncClient, agent: httpx.AsyncClient) -> None:
    approval_id = await short(admin, agent)
    assert (await ask(agent))["approval_id"] == approval_id
    decided = await decide(admin, approval_id)
    assert (decided.status_code, decided.json()) == (200, {"state": "approved", "decisions_needed": 0})
    answer = await ask(agent)
    assert (answer["verdict"], answer["tokens"]) == ("warn", 700)
    assert "approval_id" not in answer
    assert (await admin.get("/v1/budgets/session:s1")).json()["tokens"]["granted"] == 200


async def test_a_request_shows_what_a_person_needs(admin: httpx.AsyncClient, agent: httpx.AsyncClient) -> None:
    approval_id = await short(admin, agent)
    shown = (await admin.get(f"/v1/approvals/{approval_id}")).json()
    (waiter,) = shown.pop("waiters")
    assert shown.pop("link").startswith("http")
    assert shown.pop("finish") is None
    assert shown.pop("related") == []
    assert shown.pop("purposes") == []  # a caller over HTTP has no task file
    assert shown.pop("effects")["shortage"]["grant_tokens"] == 200
    assert shown.pop("created_at") < shown.pop("deadline")
    assert waiter.pop("since")
    assert waiter == {
        "key": "k1",
        "task_id": "t1",
        "agent_id": "",
        "submitter": "backend",
        "submitted_by": "backend",
        "tokens": 700,
        "nano_usd": 0,
    }
    assert shown == {
        "approval_id": approval_id,
        "scope": "session:s1",
        "window_start": None,
        "task_id": "",
        "state": "pending",
        "asked": {"tokens": 200, "nano_usd": 0},
        "given": {"tokens": 0, "nano_usd": 0},
        "limit_tokens": 500,
        "limit_nano_usd": None,
        "tokens": {"spent": 0, "held": 0, "granted": 0},
        "nano_usd": {"spent": 0, "held": 0, "granted": 0},
        "decisions_needed": 1,
        "rules": shown["rules"],
        "decided_at": None,
        "reminded_at": None,
        "escalated_at": None,
        "decisions": [],
        "forecast": {"tokens_per_hour": None, "nano_usd_per_hour": None, "exhausts_at": None, "basis": "too_short"},
    }


async def test_a_denied_ask_is_refused_for_good_and_a_new_key_asks_anew(
    admin: httpx.AsyncClient, agent: httpx.AsyncClient
) -> None:
    approval_id = await short(admin, agent)
    assert (await decide(admin, approval_id, "deny", note="not this week", ticket_url=TICKET)).json()[
        "state"
    ] == "denied"
    for _ in range(2):
        answer = await ask(agent)
        assert (answer["verdict"], answer["approval_id"]) == ("refuse", approval_id)
        assert answer["scopes"][1]["reason"] == "denied"
        assert "denied" in answer["remedy"]
    anew = await ask(agent, key="k2")
    assert anew["verdict"] == "ask"
    assert anew["approval_id"] != approval_id
    (decision,) = (await admin.get(f"/v1/approvals/{approval_id}")).json()["decisions"]
    assert (decision["decision"], decision["approver"], decision["identity"]) == ("deny", "ada", "key")
    assert (decision["note"], decision["ticket_url"]) == ("not this week", TICKET)


async def test_an_expired_ask_is_refused(admin: httpx.AsyncClient, agent: httpx.AsyncClient) -> None:
    approval_id = await short(admin, agent, deadline_s=1)
    while (await admin.get(f"/v1/approvals/{approval_id}")).json()["state"] == "pending":
        await asyncio.sleep(0.1)
    answer = await ask(agent)
    assert (answer["verdict"], answer["scopes"][1]["reason"]) == ("refuse", "expired")


async def test_a_partial_grant_that_leaves_it_short_opens_a_new_request(
    admin: httpx.AsyncClient, agent: httpx.AsyncClient
) -> None:
    approval_id = await short(admin, agent)
    assert (await decide(admin, approval_id, grant_tokens=50)).json()["state"] == "approved"
    answer = await ask(agent)
    assert answer["verdict"] == "ask"
    assert answer["approval_id"] != approval_id
    assert (await admin.get(f"/v1/approvals/{answer['approval_id']}")).json()["asked"]["tokens"] == 150


async def test_the_same_decision_again_changes_nothing_and_another_under_its_id_is_a_conflict(
    admin: httpx.AsyncClient, agent: httpx.AsyncClient
) -> None:
    approval_id = await short(admin, agent)
    answers = await asyncio.gather(*(decide(admin, approval_id) for _ in range(5)))
    assert {(answer.status_code, answer.text) for answer in answers} == {(200, answers[0].text)}
    assert (await admin.get("/v1/budgets/session:s1")).json()["tokens"]["granted"] == 200
    other = await decide(admin, approval_id, "approve", grant_tokens=9)
    assert (other.status_code, other.json()["type"]) == (409, "urn:purser:conflict")
    late = await decide(admin, approval_id, "deny")
    assert (late.status_code, late.json()["reason"]) == (409, "closed")


async def test_two_people_are_two_keys_with_two_names(
    gateway: RunningGateway, admin: httpx.AsyncClient, agent: httpx.AsyncClient
) -> None:
    approval_id = await short(admin, agent, two_people_above_tokens=100)
    bob = await gateway.client(Role.APPROVER, name="bob")
    first = await decide(bob, approval_id, decision_id="d1")
    assert first.json() == {"state": "pending", "decisions_needed": 1}
    again = await decide(bob, approval_id, decision_id="d2")
    assert (again.status_code, again.json()["reason"]) == (403, "same_person")
    assert (await decide(admin, approval_id, decision_id="d3")).json() == {"state": "approved", "decisions_needed": 0}


async def test_a_request_counts_what_each_approver_has_granted_already(
    gateway: RunningGateway, admin: httpx.AsyncClient, agent: httpx.AsyncClient
) -> None:
    approval_id = await short(admin, agent, two_people_above_tokens=250)
    anna, bob = [await gateway.client(Role.APPROVER, name=name) for name in ("anna", "bob")]
    assert (await decide(anna, approval_id, decision_id="d1")).json()["state"] == "approved"
    held = await ask(agent)
    used = {"attempt": 1, "usage": {"total": 700}}
    assert (await agent.post(f"/v1/holds/{held['hold_id']}/settle", json=used)).is_success
    approval_id = str((await ask(agent, key="k2", tokens=100))["approval_id"])

    async def needed(approver: httpx.AsyncClient) -> object:
        return (await approver.get(f"/v1/approvals/{approval_id}")).json()["decisions_needed"]

    assert [await needed(anna), await needed(bob)] == [2, 1]
    assert (await decide(anna, approval_id, decision_id="d2")).json() == {"state": "pending", "decisions_needed": 1}
    assert (await decide(bob, approval_id, decision_id="d3")).json() == {"state": "approved", "decisions_needed": 0}


async def test_the_submitter_and_roles_outside_the_rules_may_not_decide(
    gateway: RunningGateway, admin: httpx.AsyncClient
) -> None:
    approval_id = await short(admin, admin, not_submitter=True, roles=["admin"])
    own = await decide(admin, approval_id)
    assert (own.status_code, own.json()["type"], own.json()["reason"]) == (
        403,
        "urn:purser:decision-refused",
        "submitter",
    )
    assert own.json()["remedy"]
    bob = await decide(await gateway.client(Role.APPROVER, name="bob"), approval_id)
    assert (bob.status_code, bob.json()["reason"]) == (403, "role")
    carol = await decide(await gateway.client(Role.ADMIN, name="carol"), approval_id)
    assert carol.json()["state"] == "approved"


async def test_a_bad_decision_names_its_field_and_writes_nothing(
    gateway: RunningGateway, admin: httpx.AsyncClient, agent: httpx.AsyncClient
) -> None:
    approval_id = await short(admin, agent)
    before = await gateway.rows()
    bad: list[tuple[dict[str, Any], str]] = [
        ({"decision": "maybe"}, "decision"),
        ({"decision_id": ""}, "decision_id"),
        ({"decision_id": 5}, "decision_id"),
        ({"grant_tokens": 0}, "grant_tokens"),
        ({"grant_tokens": True}, "grant_tokens"),
        ({"grant_nano_usd": "1"}, "grant_nano_usd"),
        ({"until": "2020-01-01T00:00:00Z"}, "until"),
        ({"until": "2999-01-01T00:00:00"}, "until"),
        ({"until": "0001-01-01T00:00:00+23:00"}, "until"),
        ({"until": "9999-12-31T23:59:59.999999Z"}, "until"),  # the driver would store infinity
        ({"until": 5}, "until"),
        ({"until": "4102444800"}, "until"),
        ({"note": "x" * 2_001}, "note"),
        ({"ticket_url": f"https://{'x' * 2_000}"}, "ticket_url"),
        ({"ticket_url": "javascript:alert(1)"}, "ticket_url"),
        ({"approver": "boss"}, "approver"),
        ({"decision": "deny", "grant_tokens": 5}, "grant"),
    ]
    for change, named in bad:
        answer = await decide(admin, approval_id, **change)
        assert answer.status_code == 422, change
        assert named in answer.json()["detail"]
    assert await gateway.rows() == before


async def test_approvals_are_listed_by_state_newest_first_in_pages(admin: httpx.AsyncClient) -> None:
    ids = []
    for number in range(3):
        scope = f"session:s{number}"
        await admin.put(f"/v1/budgets/{scope}", json={"limit_tokens": 5, "mode": "approval"})
        ids.append((await ask(admin, key=f"k{number}", path=[scope]))["approval_id"])
    await decide(admin, ids[0], "deny")
    pending = (await admin.get("/v1/approvals", params={"state": "pending", "limit": 1})).json()
    assert [item["approval_id"] for item in pending["items"]] == [ids[2]]
    rest = (await admin.get("/v1/approvals", params={"state": "pending", "cursor": pending["cursor"]})).json()
    assert ([item["approval_id"] for item in rest["items"]], rest["cursor"]) == ([ids[1]], None)
    assert (await admin.get("/v1/approvals", params={"state": "lost"})).status_code == 422
    unknown = await admin.get("/v1/approvals", params={"cursor": "lost"})
    assert (unknown.status_code, "cursor" in unknown.json()["detail"]) == (422, True)


async def test_unknown_ids_and_other_tenants_find_nothing(
    gateway: RunningGateway, admin: httpx.AsyncClient, agent: httpx.AsyncClient
) -> None:
    approval_id = await short(admin, agent)
    stranger = await gateway.client(Role.ADMIN, tenant="other")
    for client, name in ((stranger, approval_id), (admin, "nope"), (admin, "%00"), (admin, "x" * 500)):
        assert (await client.get(f"/v1/approvals/{name}")).status_code == 404
        assert (await decide(client, name)).status_code == 404
    assert (await stranger.get("/v1/approvals")).json()["items"] == []
