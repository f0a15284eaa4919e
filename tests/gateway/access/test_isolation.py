"""No request of one tenant reads or changes data of another: every route, with the ids of another tenant."""

import json
from typing import Any

import httpx
import pytest

from purser.compose.settings import Settings
from purser.gateway.access.roles import Role
from tests.gateway.conftest import BACKGROUND, RunningGateway
from tests.support.access import OWN, ROUTES, THEIRS, URL, filled
from tests.support.calls import plan_calls

CANARY = "CANARY-77aa"
IDS = ("hold_id", "task_id", "call", "approval_id", "webhook_id", "delivery_id", "key_id")
"""Ids that are made up by Purser or unique in it; the others are names that each tenant has for itself."""


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.model_copy(update={"webhook_targets": ("https://hooks.example",)})


async def made(client: httpx.AsyncClient, method: str, path: str, body: object = None) -> Any:
    answer = await client.request(method, path, json=body)
    assert answer.is_success, f"{method} {path}: {answer.text}"
    return answer.json()


@pytest.fixture
async def things(gateway: RunningGateway, task_queue: str) -> dict[str, str]:
    """One of everything, of the tenant `default`; its ids by the names that paths have for them."""
    ada = await gateway.client(Role.ADMIN, name=f"ada-{CANARY}")
    function = {"name": "find", "arguments": json.dumps({"name": CANARY})}
    called = [{"id": "call-1", "type": "function", "function": function}]
    message = {"role": "assistant", "content": f"I am {CANARY}, my canary is Tweety.", "tool_calls": called}
    await made(ada, "POST", "/v1/sessions/s1/messages", {"messages": [message], "user_id": "u1"})
    await made(ada, "PUT", "/v1/sessions/s1/pins/1", {"reason": CANARY})
    await made(ada, "PUT", "/v1/sessions/s1/settings", {"tone": CANARY})
    await made(ada, "PUT", "/v1/users/u1/settings", {"tone": CANARY})
    await made(ada, "PUT", "/v1/retention", {"days": 777})
    await made(ada, "PUT", "/v1/budgets/session:s1", {"limit_tokens": 777, "mode": "approval"})
    hold = await made(ada, "POST", "/v1/holds", {"key": f"k-{CANARY}", "path": ["session:s1"], "tokens": 10})
    asked = await made(ada, "POST", "/v1/holds", {"key": f"q-{CANARY}", "path": ["session:s1"], "tokens": 900})
    agents = [{"id": "a", "model": "priced-model", "instructions": CANARY}]
    task_id = f"t-{task_queue[5:]}"
    task = {"session_id": "s1", "task_id": task_id, "input": CANARY, "submitter": CANARY, "agents": agents}
    await made(ada, "POST", "/v1/tasks", task)
    await plan_calls(gateway.pool, "a", task_id, 1)
    hook = await made(ada, "POST", "/v1/webhooks", {"url": f"{URL}/{CANARY}", "kinds": ["approval"], "enabled": False})
    delivery = await made(ada, "POST", f"/v1/webhooks/{hook['webhook_id']}/test")
    keys = await made(ada, "GET", "/v1/keys")
    return {
        "hold_id": str(hold["hold_id"]),
        "task_id": task_id,
        "call": f"{task_id}-k1",
        "approval_id": asked["approval_id"],
        "webhook_id": hook["webhook_id"],
        "delivery_id": str(delivery["delivery_id"]),
        "key_id": keys["items"][0]["key_id"],
        "session_id": "s1",
        "seq": "1",
        "index": "0",
        "user_id": "u1",
        "scope": "session:s1",
    }


COLUMNS = """
select table_name, bool_or(column_name = 'tenant') as own from information_schema.columns
where table_schema = 'public' and column_name in ('tenant', 'scope_id') and table_name <> all ($1) group by 1
"""
ROWS = "select md5(coalesce(string_agg(to_jsonb(t)::text, ' ' order by to_jsonb(t)::text), '')) from {} t where {}"
MOVING = [*BACKGROUND, "outbox", "events", "deliveries"]
"""Tables that the gateway changes in the background."""


async def theirs(gateway: RunningGateway) -> dict[str, str]:
    """The rows of the tenant `default`, by table."""
    found = {}
    for table, own in await gateway.pool.fetch(COLUMNS, MOVING):
        scopes = "select scope_id from scopes where tenant = 'default'"
        of = "tenant = 'default'" if own else f"scope_id in ({scopes})"
        found[table] = await gateway.pool.fetchval(ROWS.format(table, of))
    return found


async def test_no_tenant_sees_or_changes_what_is_anothers(gateway: RunningGateway, things: dict[str, str]) -> None:
    eve = await gateway.client(Role.ADMIN, tenant="other", name="eve")
    ids = {things[name] for name in IDS} | {CANARY, "777"}
    before = await theirs(gateway)
    assert len(before) > 20
    # What is its own comes last: then it has a session `s1` too.
    for endpoint, route in sorted(ROUTES.items(), key=lambda named: named[1].other is OWN):
        method, path = filled(endpoint, things)
        count = await gateway.rows()
        async with eve.stream(method, path, json=route.body, params=dict(route.query)) as answer:
            is_stream = answer.headers.get("content-type", "").startswith("text/event-stream")
            text = "" if is_stream else (await answer.aread()).decode()
        if route.other is THEIRS:
            assert answer.status_code == 404, f"{endpoint}: {answer.status_code} {text}"
            changed = {name for name, rows in (await gateway.rows()).items() if rows != count[name]}
            assert changed <= {*MOVING}, f"{endpoint} wrote {changed}"
            assert CANARY not in text, endpoint
        else:
            assert answer.is_success, f"{endpoint}: {answer.status_code} {text}"
            assert not [word for word in ids if f'"{word}"' in text or CANARY in text], f"{endpoint}: {text}"
    after = await theirs(gateway)
    assert {name for name in before if before[name] != after[name]} == set()


async def test_the_ids_above_work_for_their_own_tenant(gateway: RunningGateway, things: dict[str, str]) -> None:
    ada = await gateway.client(Role.ADMIN, name="ada")
    for endpoint, route in ROUTES.items():
        if endpoint.startswith("GET ") and route.other is THEIRS:
            method, path = filled(endpoint, things)
            answer = await ada.request(method, path, params=dict(route.query))
            assert answer.status_code == 200, f"{endpoint}: {answer.status_code} {answer.text}"
