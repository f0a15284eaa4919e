"""The dashboard as people use it: a running `purser up`, and a Chromium.

One stack and one browser serve all tests of a worker; each test has its own tenant. Everything here runs in one event
loop, which belongs to the browser.
"""

import asyncio
import shutil
import signal
import tempfile
import uuid
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.async_api import Browser, BrowserContext, Page

from purser.activities.runtime.stores import Stores
from purser.budget.policies.policy import PolicyPatch
from purser.budget.postgres.connections.pools import Pool, create_pool
from purser.budget.postgres.ledger.ledger import Ledger
from purser.budget.postgres.ledger.policies import Policies
from purser.budget.postgres.ledger.settings import LedgerSettings
from purser.budget.scopes import Scope
from purser.compose.demo.provider import Provider, Reply, serve_provider
from purser.gateway.access.roles import Role
from purser.gateway.postgres.keys import Keys
from tests.support.actors import TESTER
from tests.support.agents import recorded_agent
from tests.support.databases import fresh_database
from tests.support.servers.browser import WIDE, Theme, Watch, borrowed, chromium, sign_in
from tests.support.servers.clients import plain_client
from tests.support.servers.forked import Forks
from tests.support.servers.purser import Purser, Started
from tests.support.world import eventually

HERE = Path(__file__).parent
TARGET = "http://127.0.0.1:9/hooks"
"""Where webhooks may be sent: nothing answers."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(HERE) and "browser" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.stack)


@dataclass(frozen=True)
class Stack:
    """A running `purser up`."""

    url: str
    stores: Stores
    """Stores over its database."""
    provider: Provider
    purser: Purser
    started: Started
    browsers: list[BrowserContext] = field(default_factory=list)
    """Browser contexts that no test uses at the moment."""

    @property
    def log(self) -> str:
        """What the process has logged so far."""
        return (self.purser.home / "stderr.log").read_text()


@dataclass
class Tenant:
    """The tenant of one test, and its keys, clients and pages."""

    stack: Stack
    name: str
    browser: Browser
    watch: Watch
    open: AsyncExitStack = field(default_factory=AsyncExitStack)

    @property
    def pool(self) -> Pool:
        """Connections to the database."""
        return self.stack.stores.pool

    @property
    def policies(self) -> Policies:
        """Stored policies."""
        return self.stack.stores.policies

    @property
    def ledger(self) -> Ledger:
        """The ledger."""
        return self.stack.stores.ledger

    def named(self, kind: str) -> str:
        """An id that no other test uses."""
        return f"{kind}-{uuid.uuid4().hex[:8]}"

    async def key(self, role: Role, name: str) -> str:
        """Creates a key; returns its secret."""
        return (await Keys(self.pool).create(self.name, name, role, by=TESTER, replace=True)).secret

    async def client(self, role: Role = Role.AGENT, name: str = "backend") -> httpx.AsyncClient:
        """A client of the API with a new key."""
        headers = {"Authorization": f"Bearer {await self.key(role, name)}"}
        return await self.open.enter_async_context(plain_client(base_url=self.stack.url, headers=headers))

    async def page(
        self,
        path: str = "/",
        role: Role = Role.ADMIN,
        name: str = "ada",
        *,
        theme: Theme = "light",
        size: tuple[int, int] = WIDE,
    ) -> Page:
        """A page in its own browser context, signed in with a new key."""
        secret = await self.key(role, name)
        browser = await self.open.enter_async_context(borrowed(self.stack.browsers, self.browser, self.stack.url))
        page = await sign_in(browser, secret, self.watch, theme=theme, size=size)
        await page.goto(path)
        return page

    async def budget(self, scope: str, **patch: Any) -> None:
        """Stores a policy."""
        await self.policies.set(self.name, Scope.parse(scope), PolicyPatch.parse(patch), by=TESTER)

    def agent(self, agent_id: str = "a", *replies: str | Reply, **more: Any) -> dict[str, Any]:
        """An agent of a task file; its model replies with `replies`, one per turn."""
        return recorded_agent(self.stack.provider, agent_id, *replies, **more)

    async def submit(self, *agents: dict[str, Any], client: httpx.AsyncClient | None = None, **more: Any) -> str:
        """Submits a task; returns its id."""
        task_id = self.named("t")
        body = {"session_id": f"s-{task_id}", "task_id": task_id, "input": "Say something.", "agents": list(agents)}
        answer = await (client or await self.client()).post("/v1/tasks", json=body | more)
        assert answer.status_code == httpx.codes.ACCEPTED, answer.text
        return task_id

    async def task_state(self, task_id: str) -> str:
        """The status of a task."""
        return str((await self.stack.stores.tasks.get(self.name, task_id))["status"])

    async def until_task(self, task_id: str, *states: str) -> str:
        """Waits until a task is in one of `states`; returns which."""

        async def look() -> str | None:
            state = await self.task_state(task_id)
            return state if state in states else None

        return await eventually(look, within_s=60)


@pytest.fixture(scope="session")
async def browser() -> AsyncIterator[Browser]:
    async with chromium() as browser:
        yield browser


@asynccontextmanager
async def running_stack(
    forks: Forks, dsn: str, temporal_address: str, run_dir: Path, **settings: str
) -> AsyncIterator[Stack]:
    """A running `purser up` on a database; checks at the end that its log has no traceback."""
    home = Path(tempfile.mkdtemp(prefix="stack-", dir=run_dir))
    async with serve_provider() as provider, await create_pool(dsn, size=8) as pool:
        defaults = {
            "dsn": dsn,
            "temporal_address": temporal_address,
            "temporal_ui_url": "http://127.0.0.1:9",
            "task_queue": f"stack-{uuid.uuid4()}",
            "metrics_port": "0",
            "allowed_api_bases": provider.address,
            "webhook_targets": TARGET,
            "sweep_every_s": "1",
            "log_format": "json",
            # Tests request their compressions: one that an append starts would race with them.
            "compress_sessions": "false",
        }
        purser = forks.purser(home, **(defaults | settings))
        started = await asyncio.to_thread(purser.start, "up", "--port", "0", "--data", str(home / "data"))
        try:
            stores = Stores(ledger=Ledger(pool, LedgerSettings()), redaction=())
            stack = Stack(started.ready["gateway"], stores, provider, purser, started)
            yield stack
            for browser in stack.browsers:
                await browser.close()
        finally:
            await asyncio.to_thread(started.end, signal.SIGTERM)
    # The driver's pool logs a traceback when it retries; nothing else may.
    lines = (home / "stderr.log").read_text().splitlines()
    assert [line for line in lines if "Traceback" in line and '"logger": "asyncpg' not in line] == []
    shutil.rmtree(home)


@pytest.fixture(scope="session")
async def stack(
    forks: Forks, postgres_server: str, template: str, temporal_address: str, run_dir: Path
) -> AsyncIterator[Stack]:
    async with (
        fresh_database(postgres_server, template) as dsn,
        running_stack(forks, dsn, temporal_address, run_dir) as stack,
    ):
        yield stack


@pytest.fixture
async def tenant(stack: Stack, browser: Browser) -> AsyncIterator[Tenant]:
    """A tenant for one test. Any error in its pages fails the test."""
    made = Tenant(stack, f"tenant-{uuid.uuid4().hex[:8]}", browser, Watch())
    async with made.open:
        yield made
    assert made.watch.complaints == []


@pytest.fixture
async def browser_page(tenant: Tenant) -> Page:
    """The first page, opened by the admin `ada`."""
    return await tenant.page()
