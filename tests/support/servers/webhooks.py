"""Webhooks for tests: a server that receives them, and what makes something happen."""

import asyncio
import json
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest
from starlette.types import Receive, Scope, Send

from purser.budget.postgres.connections.pools import Pool
from purser.budget.postgres.events.events import EventKind
from purser.budget.postgres.ledger.policies import Policies
from purser.budget.postgres.ledger.settings import LedgerSettings
from purser.budget.scopes import Scope as BudgetScope
from purser.compose.http.serving import listen, serve
from purser.compose.stack.ports import LOOPBACK
from purser.gateway.access.sealing import Seal
from purser.gateway.approvals.links import ApprovalLinks
from purser.gateway.postgres.deliveries import Deliveries
from tests.support.events import put
from tests.support.threads import in_task

SESSION = BudgetScope.parse("session:s1")
PATH = "/hooks/s3cr3t"
ALL_SENT = """
select not exists (select from events e, webhook_cursor c where e.position is null or e.position > c.position)
    and not exists (select from deliveries where state = 'pending')
"""


@dataclass
class Receiver:
    """A server that webhooks lead to."""

    port: int
    path: str = field(default_factory=lambda: f"{PATH}/{uuid.uuid4().hex}")
    got: list[tuple[dict[str, str], bytes]] = field(default_factory=list)
    statuses: list[int] = field(default_factory=list)
    """What it answers, one after the other; then 204."""
    pause_s: float = 0
    headers: list[tuple[bytes, bytes]] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://{LOOPBACK}:{self.port}{self.path}"

    @property
    def bodies(self) -> list[dict[str, Any]]:
        return [json.loads(body) for _, body in self.got]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = (await receive())["body"]
        if not scope["path"].startswith(self.path):
            return  # a late message of another test
        self.got.append(({name.decode(): value.decode() for name, value in scope["headers"]}, body))
        await asyncio.sleep(self.pause_s)
        status = self.statuses.pop(0) if self.statuses else 204
        await send({"type": "http.response.start", "status": status, "headers": self.headers})
        await send({"type": "http.response.body"})

    async def until(self, count: int) -> None:
        await until(lambda: len(self.got) >= count)


async def until(reached: Callable[[], object]) -> None:
    async with asyncio.timeout(30):
        while not reached():
            await asyncio.sleep(0.02)


@asynccontextmanager
async def receiving(port: int) -> AsyncIterator[Receiver]:
    receiver = Receiver(port)
    async with in_task(lambda stop, ready: serve(receiver, listen(LOOPBACK, port), stop, ready, grace_s=0)):
        yield receiver


def store_on(pool: Pool) -> Deliveries:
    """The deliveries of a database without a gateway."""
    return Deliveries(pool, Policies(pool, LedgerSettings()), "http://here", ApprovalLinks(Seal(), "http://here"))


async def make(client: httpx.AsyncClient, url: str, *kinds: str, **fields: Any) -> dict[str, Any]:
    answer = await client.post("/v1/webhooks", json={"url": url, "kinds": [*kinds]} | fields)
    assert answer.status_code == 201, answer.text
    made: dict[str, Any] = answer.json()
    return made


async def tell(pool: Pool, kind: EventKind, tenant: str = "default", **data: Any) -> None:
    async with pool.acquire() as own:
        await put(own, tenant, kind, SESSION, data)


async def task(pool: Pool, status: str, name: str = "t1", tenant: str = "default") -> None:
    await tell(pool, EventKind.TASK, tenant, task_id=name, session_id="s1", status=status)


async def deliveries(client: httpx.AsyncClient, hook: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (await client.get(f"/v1/webhooks/{hook['webhook_id']}/deliveries")).json()["items"]
    return found


async def failing(client: httpx.AsyncClient, hook: dict[str, Any], error: str) -> None:
    """Waits until the only delivery has failed for the first time, with this kind of error."""
    async with asyncio.timeout(30):
        while [one["error"] for one in await deliveries(client, hook)] != [error]:
            await asyncio.sleep(0.05)


async def settled(client: httpx.AsyncClient, hook: dict[str, Any], count: int = 1) -> list[dict[str, Any]]:
    """The deliveries, once so many have ended."""
    found: list[dict[str, Any]] = []
    try:
        async with asyncio.timeout(30):
            while sum(one["state"] != "pending" for one in found) < count:
                found = await deliveries(client, hook)
                await asyncio.sleep(0.05)
    except TimeoutError:
        pytest.fail(f"not all have ended: {found}")
    return found


async def all_sent(pool: Pool) -> None:
    """Waits until there is nothing left to send of what has happened so far."""
    async with asyncio.timeout(30):
        while not await pool.fetchval(ALL_SENT):
            await asyncio.sleep(0.02)


async def ask(client: httpx.AsyncClient, key: str = "k") -> str:
    """An approval request of a session that is short."""
    body = {"limit_tokens": 1_000, "mode": "approval", "warn_at": [0.8], "window": "day"}
    await client.put("/v1/budgets/session:s1", json=body)
    answer = await client.post("/v1/holds", json={"key": key, "path": ["session:s1"], "tokens": 13_000})
    approval_id: str = answer.json()["approval_id"]
    assert approval_id
    return approval_id
