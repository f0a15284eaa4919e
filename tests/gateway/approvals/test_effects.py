"""`GET /v1/approvals/{id}` previews the effect of a grant, and the grant then has that effect."""

from typing import Any

import httpx
import pytest

from purser.gateway.access.roles import Role
from purser.gateway.approvals import details
from tests.gateway.conftest import RunningGateway

PATH = ["session:s1", "task:t1"]


@pytest.fixture
async def short(admin: httpx.AsyncClient, agent: httpx.AsyncClient) -> str:
    """A caller who asks for 700 of a session's 500 tokens."""
    await admin.put("/v1/budgets/session:s1", json={"limit_tokens": 500, "mode": "approval"})
    return str((await ask(agent))["approval_id"])


async def ask(agent: httpx.AsyncClient) -> dict[str, Any]:
    body: dict[str, Any] = (await agent.post("/v1/holds", json={"key": "k1", "path": PATH, "tokens": 700})).json()
    return body


async def effects(admin: httpx.AsyncClient, approval_id: str) -> dict[str, Any]:
    shown: dict[str, Any] = (await admin.get(f"/v1/approvals/{approval_id}")).json()["effects"]
    return shown


@pytest.mark.parametrize(("name", "delay_ms"), [("shortage", 5_000), ("without_delay", 0)])
async def test_effect_of_a_grant_is_what_the_gate_does_after_it(
    admin: httpx.AsyncClient, agent: httpx.AsyncClient, short: str, name: str, delay_ms: int
) -> None:
    effect = (await effects(admin, short))[name]
    assert (effect["admitted"], effect["asking"], effect["delay_ms"]) == (1, 0, delay_ms)
    decision = {"decision_id": "d1", "decision": "approve", "grant_tokens": effect["grant_tokens"]}
    assert (await admin.post(f"/v1/approvals/{short}/decision", json=decision)).is_success
    held = await ask(agent)
    assert held["delay_ms"] == delay_ms
    assert max(one["ratio"] for one in held["scopes"]) == effect["ratio"]
    assert (await admin.get(f"/v1/approvals/{short}")).json()["effects"] is None


async def test_tighter_scope_of_the_same_path_shows_in_the_effect(
    admin: httpx.AsyncClient, agent: httpx.AsyncClient, short: str
) -> None:
    await admin.put("/v1/budgets/task:t1", json={"limit_tokens": 750, "mode": "hard"})
    effect = (await effects(admin, short))["without_delay"]
    assert (effect["delay_ms"], effect["slowed_by"]) == (750, "task:t1")
    await admin.put("/v1/budgets/task:t1", json={"limit_tokens": 600, "mode": "hard"})
    assert (await effects(admin, short))["without_delay"]["refused"] == 1


async def test_the_effect_covers_all_waiting_calls_not_only_those_whose_purposes_are_read(
    admin: httpx.AsyncClient, agent: httpx.AsyncClient, short: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(details, "MAX_WAITERS", 1)
    await agent.post("/v1/holds", json={"key": "k2", "path": PATH, "tokens": 600})
    shown = await effects(admin, short)
    assert [shown[name]["admitted"] for name in ("shortage", "without_delay")] == [2, 2]
    assert shown["shortage"]["ratio"] == 1


async def test_call_over_http_has_no_purpose_and_another_tenant_sees_nothing(
    gateway: RunningGateway, admin: httpx.AsyncClient, short: str
) -> None:
    assert (await admin.get(f"/v1/approvals/{short}")).json()["purposes"] == []
    stranger = await gateway.client(Role.ADMIN, "elsewhere", "eve")
    assert (await stranger.get(f"/v1/approvals/{short}")).status_code == httpx.codes.NOT_FOUND


async def test_other_requests_on_the_same_scope_are_named(
    admin: httpx.AsyncClient, agent: httpx.AsyncClient, short: str
) -> None:
    await admin.put("/v1/budgets/task:t2", json={"limit_tokens": 10, "mode": "approval"})
    for key, path in (("k2", ["session:s1", "task:t2"]), ("k3", ["session:s3", "task:t2"])):
        await agent.post("/v1/holds", json={"key": key, "path": path, "tokens": 20})
    [other] = (await admin.get(f"/v1/approvals/{short}")).json()["related"]
    assert (other["scope"], other["asked"]["tokens"]) == ("task:t2", 30)
    assert (await admin.get(f"/v1/approvals/{other['approval_id']}")).json()["related"] == []
