"""Reads of budgets, tasks and approvals are answered alike by the application and in front of it, byte by byte."""

import re
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any

import httpx
import pytest
from starlette.types import ASGIApp, Receive, Scope, Send
from temporalio.client import Client

from purser.budget.gate import Amount
from purser.budget.postgres.connections.pools import Pool
from purser.budget.postgres.ledger.ledger import Ledger
from purser.budget.refusals import Refusal
from purser.budget.scopes import Scope as BudgetScope
from purser.compose.processes.gateway import build_services
from purser.compose.settings import Settings
from purser.compose.settings.ledger import ledger_settings
from purser.gateway.access.roles import Role
from purser.gateway.app import create_app
from purser.gateway.approvals import routes as approvals
from purser.gateway.budgets import routes as budgets
from purser.gateway.http.direct import DirectRoutes
from purser.gateway.metrics.requests import Metrics
from purser.gateway.services import Services
from purser.gateway.tasks import routes as tasks
from tests.support.actors import TESTER

READS = (*budgets.READS, *tasks.READS, *approvals.READS)
TASK = {
    "session_id": "s1",
    "task_id": "t1",
    "input": "Compare the two offers — naïve.",
    "budget": {"task": {"limit_tokens": 9_000, "mode": "hard"}, "agent": {"limit_usd": "0.5"}},
    "context": {"recents_count": 5},
    "use_case_preset": "debugging",
    "tags": {"team": "search"},
    "agents": [
        {"id": name, "model": "priced-model", "instructions": "Read."} for name in ("reader", "writer", "checker")
    ],
}
POLICIES: dict[str, dict[str, Any]] = {
    "session:s1": {
        "limit_tokens": 3_000,
        "mode": "hard",
        "window": "day",
        "timezone": "Europe/Berlin",
        "warn_at": [0.000001, 0.5, 0.8],
        "backpressure": [[0.5, 5], [0.9, 750]],
        "rollover": 0.25,
        "ladder": [{"ratio": 0.5, "model": ["gpt-4o-mini"], "output": 0.25}, {"ratio": 0.9, "output": 300}],
    },
    "session:s1@7d": {"limit_nano_usd": 10**9},
    "session:short": {"limit_tokens": 500, "mode": "approval", "approval": {"two_people_above_tokens": 100}},
    "session:lent": {"limit_tokens": 500, "mode": "approval"},
    "session:shown": {"limit_tokens": 10, "mode": "hard", "shadow": True},
    "session:none": {"limit_tokens": 0, "frozen": True, "window": "5h"},
    "agent:t1/reader": {"last_answer": 0.1, "learned_holds": 0.9},
}
SOME_REFUSAL = Refusal(
    BudgetScope.parse("session:s1"), "limit", 500, None, Amount(), Amount(1), Amount(), Amount(2_000), None
)
VALID = [
    "/v1/budgets",
    "/v1/budgets?limit=2",
    "/v1/budgets?limit=2&cursor=3",
    "/v1/budgets?kind=session&over=0.95",
    "/v1/budgets?over=0.1&limit=1",
    *(f"/v1/budgets/{name}" for name in (*POLICIES, "user:ana", "agent:t1/new", "tag:team=search", "session:a%2eb")),
    "/v1/tasks",
    "/v1/tasks?state=running&limit=1",
    "/v1/tasks?state=failed",
    "/v1/tasks/t1",
    "/v1/approvals",
    "/v1/approvals?state=pending",
    "/v1/approvals?state=approved&limit=1",
    "/v1/budgets/session:a%20b",
    "/v1/budgets/tenant:other",
    "/v1/tasks/unknown",
    "/v1/approvals/unknown",
]
"""What is served directly, problems of endpoints included."""
INVALID = [
    "/v1/budgets?limit=0",
    "/v1/budgets?limit=two",
    "/v1/budgets?limit=1&limit=2",
    "/v1/budgets?more=1",
    "/v1/budgets?=1",
    "/v1/budgets?kind=",
    "/v1/budgets?cursor=x",
    "/v1/budgets?over=%00",
    "/v1/budgets/session:s1?limit=1",
    "/v1/tasks?state=unknown",
    "/v1/approvals?cursor=a%20b",
]
"""What the application has to judge."""
LINK = re.compile(rb'"link":"[^"]+"')


class Noted:
    """An application that notes what reaches it."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self.reached: list[str] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.reached.append(scope["path"])
        await self._app(scope, receive, send)


class Gateway:
    """A gateway with two ways to its reads."""

    def __init__(self, services: Services, app: ASGIApp, clients: AsyncExitStack) -> None:
        self.services, self._app, self._clients = services, app, clients
        self.noted = Noted(app)

    async def reader(self, role: Role) -> tuple[httpx.AsyncClient, httpx.AsyncClient]:
        """Clients of the application and of what is in front of it, with one key, which is in use."""
        key = await self.services.keys.create("default", str(role), role, by=TESTER)
        await self.services.keys.find(key.secret)
        return await self._client(self._app, key.secret), await self._client(
            DirectRoutes(self.noted, READS, self.services), key.secret
        )

    async def _client(self, app: ASGIApp, secret: str) -> httpx.AsyncClient:
        headers = {"authorization": f"Bearer {secret}"}
        client = httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://gateway", headers=headers)
        return await self._clients.enter_async_context(client)


@pytest.fixture
async def gateway(pool: Pool, plain_settings: Settings, dsn: str, temporal_client: Client) -> AsyncIterator[Gateway]:
    own = plain_settings.model_copy(update={"dsn": dsn})
    services = build_services(own, Ledger(pool, ledger_settings(own)), temporal_client, lambda: None, Metrics())
    async with AsyncExitStack() as clients:
        yield Gateway(services, create_app(services, {}), clients)


async def spend(admin: httpx.AsyncClient) -> None:
    """Sets budgets, runs a task, settles, and waits for approvals, of which one is given."""

    async def send(method: str, path: str, body: Any) -> Any:
        return (await admin.request(method, path, json=body)).raise_for_status().json()

    for scope, policy in POLICIES.items():
        await send("PUT", f"/v1/budgets/{scope}", policy)
    await send("PUT", "/v1/policies", {"policies": {"session:*": {"warn_at": [0.7]}}})
    await send("POST", "/v1/tasks", TASK)
    for number, session in enumerate(("s1", "shown", "short", "lent")):
        path = [f"session:{session}", "task:t1", "agent:t1/reader"]
        held = await send("POST", "/v1/holds", {"key": f"k{number}", "path": path, "tokens": 700, "nano_usd": 1_000})
        if held["hold_id"]:
            usage = {"input": 300, "output": 450}
            await send("POST", f"/v1/holds/{held['hold_id']}/settle", {"attempt": 1, "usage": usage, "nano_usd": 7})
        elif session == "lent":
            body = {"decision_id": "d1", "decision": "approve", "note": "fine — naïve", "grant_tokens": 900}
            await send("POST", f"/v1/approvals/{held['approval_id']}/decision", body)


async def end_agents(pool: Pool) -> None:
    """Ends one agent refused and one failed, as a worker does."""
    shortfall = {"budget": 60, "parts": {"input": 90}}
    await pool.execute(
        "update agents set status = 'failed', reason = 'WindowTooSmall', shortfall = $1 where agent_id = 'writer'",
        shortfall,
    )
    await pool.execute(
        "update agents set status = 'refused', reason = 'limit', scope = 'x:y' where agent_id = 'checker'"
    )
    await pool.execute(
        """
        insert into calls (tenant, key, task_id, agent_id, turn, model, plan, output_cap, tokens, nano, least_tokens,
                           least_nano, refusal)
        values ('default', 'c1', 't1', 'checker', 1, 'priced-model', '{}', 1, 2000, 0, 1, 0, $1)
        """,
        SOME_REFUSAL.to_json() | {"period_end": "2026-11-21T00:00:00+00:00"},
    )
    await pool.execute("update agents set reply_seq = 1 where agent_id = 'reader'")


async def test_every_read_is_answered_as_the_application_answers_it(gateway: Gateway) -> None:
    routed, direct = await gateway.reader(Role.ADMIN)
    await spend(routed)
    await end_agents(gateway.services.pool)
    found = (await routed.get("/v1/approvals")).json()["items"]
    assert {one["state"] for one in found} == {"approved", "pending"}
    for path in (*VALID, *(f"/v1/approvals/{one['approval_id']}" for one in found)):
        expected, answer = await routed.get(path), await direct.get(path)
        assert LINK.sub(b"", answer.content) == LINK.sub(b"", expected.content), path
        headers = [
            {name: value for name, value in one.headers.items() if name != "content-length"}
            for one in (answer, expected)
        ]
        assert (answer.status_code, headers[0]) == (expected.status_code, headers[1])
    assert gateway.noted.reached == []
    for path in INVALID:
        expected, answer = await routed.get(path), await direct.get(path)
        assert (answer.status_code, answer.content) == (expected.status_code, expected.content)
        assert answer.status_code == 422
    assert len(gateway.noted.reached) == len(INVALID)


@pytest.mark.parametrize("role", [Role.AGENT, Role.VIEWER])
async def test_a_role_reads_no_more_than_the_application_lets_it_read(gateway: Gateway, role: Role) -> None:
    routed, direct = await gateway.reader(role)
    for path in ("/v1/budgets", "/v1/budgets/session:s1", "/v1/tasks", "/v1/approvals"):
        expected, answer = await routed.get(path), await direct.get(path)
        assert (answer.status_code, answer.content) == (expected.status_code, expected.content)
