"""Limits of tenant and users apply to holds over HTTP, whether their path names them or not."""

import uuid
from typing import Any

import httpx

from tests.gateway.conftest import RunningGateway


async def ask(client: httpx.AsyncClient, key: str, *path: str) -> dict[str, Any]:
    answer = await client.post("/v1/holds", json={"key": key, "path": list(path), "tokens": 600})
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


async def test_tenant_and_user_of_the_session_stop_holds_that_do_not_name_them(
    gateway: RunningGateway, admin: httpx.AsyncClient
) -> None:
    said = {"user_id": "ana", "messages": [{"role": "user", "content": "Hello."}]}
    # The common gateway remembers whose a session is, so these are of this test alone.
    one, two, three, four = (f"s{uuid.uuid4().hex}" for _ in range(4))
    for session in (one, two):
        assert (await admin.post(f"/v1/sessions/{session}/messages", json=said)).status_code == 200
    await admin.put("/v1/budgets/user:ana", json={"limit_tokens": 1_000, "mode": "hard"})
    await admin.put("/v1/budgets/tenant:default", json={"limit_tokens": 1_500, "mode": "hard"})
    held = await ask(admin, "k1", f"session:{one}")
    assert [scope["scope"] for scope in held["scopes"]] == ["tenant:default", "user:ana", f"session:{one}"]
    second, third = await ask(admin, "k2", f"session:{two}"), await ask(admin, "k3", f"session:{three}")
    assert {scope["scope"]: scope["verdict"] for scope in second["scopes"]}["user:ana"] == "wait"
    assert third["verdict"] == "warn"
    fourth = await ask(admin, "k4", f"session:{four}")
    assert {scope["scope"]: scope["verdict"] for scope in fourth["scopes"]}["tenant:default"] == "wait"


async def test_a_key_is_bound_to_the_named_path_even_if_the_session_gets_a_user_meanwhile(
    gateway: RunningGateway, admin: httpx.AsyncClient
) -> None:
    session = f"s{uuid.uuid4().hex}"
    first = await ask(admin, "k1", f"session:{session}")
    said = {"user_id": "ana", "messages": [{"role": "user", "content": "Hello."}]}
    assert (await admin.post(f"/v1/sessions/{session}/messages", json=said)).status_code == 200
    assert (await ask(admin, "k1", f"session:{session}"))["hold_id"] == first["hold_id"]
