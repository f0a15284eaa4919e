"""Who may do what: every endpoint against every role, and against no key at all."""

import re

import pytest
from fastapi.routing import APIRoute

from gateway import approvals, budgets, holds, keys, session_context, sessions, tasks, users
from gateway.roles import PERMISSIONS, Permission, Principal, Role
from tests.gateway.conftest import RunningGateway

ENDPOINTS: dict[str, Permission] = {
    "POST /v1/holds": Permission.SPEND,
    "GET /v1/holds/{hold_id}": Permission.READ_WORK,
    "POST /v1/holds/{hold_id}/attempts": Permission.SPEND,
    "POST /v1/holds/{hold_id}/settle": Permission.SPEND,
    "POST /v1/holds/{hold_id}/release": Permission.SPEND,
    "POST /v1/holds/{hold_id}/extend": Permission.SPEND,
    "GET /v1/budgets": Permission.READ,
    "GET /v1/budgets/{scope:path}": Permission.READ,
    "PUT /v1/budgets/{scope:path}": Permission.SET_BUDGETS,
    "POST /v1/tasks": Permission.RUN,
    "GET /v1/tasks": Permission.READ_WORK,
    "GET /v1/tasks/{task_id}": Permission.READ_WORK,
    "POST /v1/tasks/{task_id}/pause": Permission.RUN,
    "POST /v1/tasks/{task_id}/resume": Permission.RUN,
    "POST /v1/tasks/{task_id}/cancel": Permission.RUN,
    "POST /v1/sessions/{session_id}/messages": Permission.WRITE_SESSIONS,
    "GET /v1/sessions/{session_id}/messages": Permission.READ_WORK,
    "GET /v1/sessions/{session_id}/pins": Permission.READ_WORK,
    "PUT /v1/sessions/{session_id}/pins/{seq}": Permission.WRITE_SESSIONS,
    "DELETE /v1/sessions/{session_id}/pins/{seq}": Permission.WRITE_SESSIONS,
    "GET /v1/sessions/{session_id}/settings": Permission.READ_WORK,
    "PUT /v1/sessions/{session_id}/settings": Permission.WRITE_SESSIONS,
    "DELETE /v1/sessions/{session_id}": Permission.DELETE_SESSIONS,
    "GET /v1/sessions/{session_id}/window": Permission.READ_WORK,
    "POST /v1/sessions/{session_id}/compress": Permission.WRITE_SESSIONS,
    "GET /v1/sessions/{session_id}/summaries": Permission.READ_WORK,
    "GET /v1/sessions/{session_id}/facts": Permission.READ_WORK,
    "GET /v1/sessions/{session_id}/messages/{seq}/explain": Permission.READ_WORK,
    "GET /v1/sessions/{session_id}/memory": Permission.READ_WORK,
    "POST /v1/sessions/{session_id}/recommend": Permission.READ_WORK,
    "POST /v1/sessions/{session_id}/tool-safety": Permission.READ_WORK,
    "GET /v1/users/{user_id}/settings": Permission.READ_WORK,
    "PUT /v1/users/{user_id}/settings": Permission.WRITE_SESSIONS,
    "GET /v1/retention": Permission.READ_WORK,
    "PUT /v1/retention": Permission.DELETE_SESSIONS,
    "GET /v1/approvals": Permission.READ,
    "GET /v1/approvals/{approval_id}": Permission.READ,
    "POST /v1/approvals/{approval_id}/decision": Permission.DECIDE,
    "POST /v1/keys": Permission.MANAGE_KEYS,
    "GET /v1/keys": Permission.MANAGE_KEYS,
    "DELETE /v1/keys/{key_id}": Permission.MANAGE_KEYS,
}


def test_the_table_above_names_every_endpoint() -> None:
    modules = (approvals, budgets, holds, keys, session_context, sessions, tasks, users)
    routes = [route for module in modules for route in module.router.routes]
    found = [(method, route.path) for route in routes if isinstance(route, APIRoute) for method in route.methods or ()]
    assert {f"{method} {path}" for method, path in found} == {*ENDPOINTS}


async def test_no_endpoint_answers_without_a_live_key(gateway: RunningGateway) -> None:
    before = await gateway.rows()
    revoked = await _revoked(gateway)
    for secret in (None, "purser_made-up", revoked):
        client = await gateway.with_secret(secret)
        for endpoint in ENDPOINTS:
            method, path = _filled(endpoint)
            answer = await client.request(method, path, json={})
            assert answer.status_code == 401, endpoint
            assert answer.json()["type"] == "urn:purser:unauthenticated"
            assert answer.headers["www-authenticate"] == "Bearer"
    assert await gateway.rows() == before | {"keys": before["keys"] + 1}


async def test_another_scheme_than_bearer_is_no_key(gateway: RunningGateway) -> None:
    client = await gateway.client(Role.ADMIN)
    secret = client.headers["authorization"].removeprefix("Bearer ")
    for value in (f"Basic {secret}", secret, f"Token {secret}", "Bearer", "Bearer \x7f"):
        assert (await client.get("/v1/budgets", headers={"authorization": value})).status_code == 401
    assert (await client.get("/v1/budgets", headers={"authorization": f"bearer {secret}"})).status_code == 200


@pytest.mark.parametrize("role", Role)
async def test_each_role_reaches_exactly_what_it_carries(gateway: RunningGateway, role: Role) -> None:
    client = await gateway.client(role)
    before = await gateway.rows()
    for endpoint, permission in ENDPOINTS.items():
        method, path = _filled(endpoint)
        answer = await client.request(method, path, json={"no": "field"})
        allowed = permission in PERMISSIONS[role]
        assert (answer.status_code == 403) is not allowed, f"{endpoint} as {role}: {answer.status_code}"
        if not allowed:
            assert answer.json()["type"] == "urn:purser:forbidden"
            assert repr(str(role)) in answer.json()["detail"]
    assert await gateway.rows() == before


async def test_an_unauthenticated_body_is_not_even_read(gateway: RunningGateway) -> None:
    client = await gateway.with_secret(None)
    answer = await client.post("/v1/holds", content=b"{", headers={"content-type": "application/json"})
    assert answer.status_code == 401


@pytest.mark.parametrize(
    ("role", "may"),
    [
        (Role.AGENT, {Permission.SPEND, Permission.RUN, Permission.WRITE_SESSIONS, Permission.READ_WORK}),
        (Role.VIEWER, {Permission.READ, Permission.READ_WORK}),
        (Role.APPROVER, {Permission.READ, Permission.READ_WORK, Permission.DECIDE}),
        (Role.ADMIN, set(Permission)),
    ],
)
def test_roles_carry_what_they_are_for(role: Role, may: set[Permission]) -> None:
    caller = Principal("key-1", "default", "someone", role)
    assert {permission for permission in Permission if caller.may(permission)} == may


def _filled(endpoint: str) -> tuple[str, str]:
    method, path = endpoint.split(" ")
    return method, re.sub(r"\{[^}]+\}", "session:s1", path)


async def _revoked(gateway: RunningGateway) -> str:
    client = await gateway.client(Role.ADMIN, name="gone")
    await gateway.pool.execute("update keys set revoked_at = now(), revoked_by = 'test' where name = 'gone'")
    return str(client.headers["authorization"]).removeprefix("Bearer ")
