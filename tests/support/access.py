"""Every route of the gateway: who may use it, and what somebody of another tenant gets from it.

A new route gets one line in `ROUTES`; a test fails until it has one. What the line says is tested with every role,
without a key, with one that is unknown, revoked or has ended, and with a key of another tenant:

    "POST /v1/things/{thing_id}": Route(Permission.RUN, THEIRS, {"a": "body that is valid"}),

`THEIRS`: the route names a thing by its id; with an id of another tenant it is 404 and writes nothing.
`OWN`: names are each tenant's own (scopes, sessions, users), or it lists: whoever asks sees and changes what is his.
Ids in paths are filled in from `tests/gateway/access/test_isolation.py`, fixture
`things`: a new kind of id is added there.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from types import SimpleNamespace
from typing import Any, cast

from purser.gateway.access.roles import Permission
from purser.gateway.app import create_app
from purser.gateway.services import Services


class Other(StrEnum):
    """What a key of another tenant gets."""

    THEIRS = "theirs"
    OWN = "own"


THEIRS, OWN = Other.THEIRS, Other.OWN


@dataclass(frozen=True)
class Route:
    """What is true of one route."""

    needs: Permission
    other: Other
    body: Mapping[str, Any] | None = None
    """With which it would work; `None`: it takes none."""
    query: Mapping[str, str] = field(default_factory=dict)
    """With which it would work."""
    writes_by_itself: bool = False
    """Whether it writes whatever body comes."""


READ_WORK, WRITE, SPEND, RUN = Permission.READ_WORK, Permission.WRITE_SESSIONS, Permission.SPEND, Permission.RUN
READ, HOOKS, MANAGE_KEYS = Permission.READ, Permission.MANAGE_WEBHOOKS, Permission.MANAGE_KEYS
SESSION = "/v1/sessions/{session_id}"
HOOK = "/v1/webhooks/{webhook_id}"
MESSAGE = {"messages": [{"role": "user", "content": "hello"}]}
URL = "https://hooks.example/purser"
AGENT = {"id": "a", "model": "m", "instructions": "i"}
TASK = {"session_id": "s1", "task_id": "another", "input": "x", "agents": [AGENT]}

ROUTES: Mapping[str, Route] = {
    "POST /v1/holds": Route(SPEND, OWN, {"key": "k1", "path": ["session:s1"], "tokens": 1}),
    "POST /v1/holds/batch": Route(SPEND, OWN, {"holds": [{"key": "k2", "path": ["session:s1"], "tokens": 1}]}),
    "POST /v1/holds/withdraw": Route(SPEND, OWN, {"key": "k1"}),
    "GET /v1/holds/{hold_id}": Route(READ_WORK, THEIRS),
    "POST /v1/holds/{hold_id}/attempts": Route(SPEND, THEIRS, {"attempt": 1}),
    "POST /v1/holds/{hold_id}/settle": Route(SPEND, THEIRS, {"attempt": 1, "usage": {"total": 1}}),
    "POST /v1/holds/{hold_id}/release": Route(SPEND, THEIRS),
    "POST /v1/holds/{hold_id}/extend": Route(SPEND, THEIRS, {"tokens": 1}),
    "GET /v1/budgets": Route(READ, OWN),
    "GET /v1/policies": Route(READ, OWN),
    "POST /v1/policies/replay": Route(READ, OWN, {"policies": {}, "since": datetime.now(UTC).isoformat()}),
    "PUT /v1/policies": Route(Permission.SET_BUDGETS, OWN, {"policies": {"session:*": {"limit_tokens": 5}}}),
    "GET /v1/budgets/{scope:path}": Route(READ, OWN),
    "PUT /v1/budgets/{scope:path}": Route(Permission.SET_BUDGETS, OWN, {"limit_tokens": 5}),
    "POST /v1/tasks": Route(RUN, OWN, TASK),
    "GET /v1/tasks": Route(READ_WORK, OWN),
    "GET /v1/tasks/{task_id}": Route(READ_WORK, THEIRS),
    "GET /v1/tasks/{task_id}/calls": Route(READ_WORK, THEIRS),
    "GET /v1/tasks/{task_id}/calls/{call}/window": Route(READ_WORK, THEIRS),
    "POST /v1/tasks/{task_id}/pause": Route(RUN, THEIRS),
    "POST /v1/tasks/{task_id}/resume": Route(RUN, THEIRS),
    "POST /v1/tasks/{task_id}/cancel": Route(RUN, THEIRS),
    "GET /v1/sessions": Route(READ_WORK, OWN),
    f"POST {SESSION}/messages": Route(WRITE, OWN, MESSAGE),
    f"GET {SESSION}/messages": Route(READ_WORK, THEIRS),
    f"GET {SESSION}/pins": Route(READ_WORK, OWN),
    f"PUT {SESSION}/pins/{{seq}}": Route(WRITE, THEIRS, {}),
    f"DELETE {SESSION}/pins/{{seq}}": Route(WRITE, THEIRS),
    f"GET {SESSION}/settings": Route(READ_WORK, OWN),
    f"PUT {SESSION}/settings": Route(WRITE, OWN, {"tone": "kind"}),
    f"DELETE {SESSION}": Route(Permission.DELETE_SESSIONS, THEIRS),
    f"GET {SESSION}/window/compare": Route(READ_WORK, THEIRS, query={"budget": "1000"}),
    f"GET {SESSION}/window": Route(READ_WORK, THEIRS, query={"budget": "500"}),
    f"POST {SESSION}/compress": Route(WRITE, THEIRS, {"budget": 500, "model": "gpt-4o"}),
    f"GET {SESSION}/summaries": Route(READ_WORK, THEIRS),
    f"GET {SESSION}/context": Route(READ_WORK, THEIRS),
    f"GET {SESSION}/facts": Route(READ_WORK, THEIRS),
    f"GET {SESSION}/messages/{{seq}}/explain": Route(READ_WORK, THEIRS, query={"budget": "500"}),
    f"GET {SESSION}/messages/{{seq}}/calls/{{index}}": Route(READ_WORK, THEIRS),
    f"PUT {SESSION}/messages/{{seq}}/calls/{{index}}/result": Route(WRITE, THEIRS, {"text": "found"}),
    f"GET {SESSION}/memory": Route(READ_WORK, THEIRS, query={"q": "canary"}),
    f"POST {SESSION}/recommend": Route(READ_WORK, THEIRS, {"max_tokens": 500}),
    f"POST {SESSION}/tool-safety": Route(READ_WORK, THEIRS, {"limit": 500, "planned_tools": 1}),
    "GET /v1/users/{user_id}/settings": Route(READ_WORK, OWN),
    "PUT /v1/users/{user_id}/settings": Route(WRITE, OWN, {"tone": "kind"}),
    "DELETE /v1/users/{user_id}/settings": Route(Permission.DELETE_SESSIONS, OWN),
    "GET /v1/retention": Route(READ_WORK, OWN),
    "PUT /v1/retention": Route(Permission.DELETE_SESSIONS, OWN, {"days": 5}),
    "GET /v1/approvals": Route(READ, OWN),
    "GET /v1/approvals/{approval_id}": Route(READ, THEIRS),
    "POST /v1/approvals/{approval_id}/decision": Route(
        Permission.DECIDE, THEIRS, {"decision_id": "d1", "decision": "deny"}
    ),
    "GET /v1/usage": Route(READ, OWN, query={"by": "session"}),
    "GET /v1/ledger": Route(READ, OWN),
    "GET /v1/events": Route(READ_WORK, OWN),
    "POST /v1/webhooks": Route(HOOKS, OWN, {"url": URL, "kinds": ["approval"]}),
    "GET /v1/webhooks": Route(HOOKS, OWN),
    f"GET {HOOK}": Route(HOOKS, THEIRS),
    f"PATCH {HOOK}": Route(HOOKS, THEIRS, {"enabled": False}),
    f"DELETE {HOOK}": Route(HOOKS, THEIRS),
    f"POST {HOOK}/secret": Route(HOOKS, THEIRS),
    f"POST {HOOK}/test": Route(HOOKS, THEIRS),
    f"GET {HOOK}/deliveries": Route(HOOKS, THEIRS),
    f"POST {HOOK}/deliveries/{{delivery_id}}/redeliver": Route(HOOKS, THEIRS),
    "POST /v1/keys": Route(MANAGE_KEYS, OWN, {"name": "another", "role": "viewer"}),
    "GET /v1/keys": Route(MANAGE_KEYS, OWN),
    "GET /v1/keys/self": Route(READ, OWN),
    "PATCH /v1/keys/{key_id}": Route(MANAGE_KEYS, THEIRS, {"path": ["session:s1"]}),
    "DELETE /v1/keys/{key_id}": Route(MANAGE_KEYS, THEIRS),
    "POST /v1/sign-in-links": Route(READ, OWN, writes_by_itself=True),
    "GET /v1/changes": Route(READ, OWN),
}
"""Under `/v1`."""

PROTOCOLS: Mapping[str, Route] = {
    "POST /openai/v1/chat/completions": Route(SPEND, OWN),
    "POST /openai/v1/responses": Route(SPEND, OWN),
    "POST /openai/v1/embeddings": Route(SPEND, OWN),
    "GET /openai/v1/models": Route(SPEND, OWN),
    "GET /openai/v1/models/{name:path}": Route(SPEND, OWN),
    "GET /anthropic/v1/models": Route(SPEND, OWN),
    "GET /anthropic/v1/models/{name:path}": Route(SPEND, OWN),
    "POST /anthropic/v1/messages": Route(SPEND, OWN),
    "POST /anthropic/v1/messages/count_tokens": Route(SPEND, OWN),
}
"""Protocols of providers: their errors are in the words of the protocol."""

DOCS = {"GET /docs", "GET /docs/", "GET /docs/{name:path}"}
OPEN = {"GET /healthz", "GET /readyz", "GET /openapi.json", "GET /sign-in", "POST /sign-in", *DOCS}
"""For everybody."""
PAGES = {"POST /sign-out"}
"""For whoever is signed in."""


def all_routes() -> set[str]:
    """Every route that the gateway serves without its dashboard, as `METHOD path`."""
    parts = SimpleNamespace(metrics=None, keys=None, browser_sessions=None, limits=None)
    return {*_served(create_app(cast(Services, parts), {}))}


def _served(router: Any) -> Iterator[str]:
    for route in router.routes:
        if hasattr(route, "original_router"):  # how FastAPI keeps what was included
            yield from _served(route.original_router)
        else:
            yield from (f"{method} {route.path}" for method in route.methods if method != "HEAD")


def filled(endpoint: str, ids: Mapping[str, str] | None = None) -> tuple[str, str]:
    """Method and path of a route, with each id from `ids`, else with one that stands for nothing."""
    method, path = endpoint.split(" ")

    def fill(found: re.Match[str]) -> str:
        name = found[1].removesuffix(":path")
        return (ids or {}).get(name, "quickstart" if name == "name" else "session:s1")

    return method, re.sub(r"\{([^}]+)\}", fill, path)
