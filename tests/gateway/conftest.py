"""A real gateway over real HTTP, on the test's own database and the shared Temporal server."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

import httpx
import pytest

from budget.postgres.connection import Pool, create_pool
from compose.gateway import run_gateway
from compose.settings import Settings
from compose.stack.ports import free_port
from gateway.postgres.keys import Keys
from gateway.roles import Role

PRICES = '{"priced-model": {"input_cost_per_token": 1e-06, "output_cost_per_token": 4e-06}}'


@dataclass(frozen=True)
class RunningGateway:
    """A gateway that answers."""

    url: str
    metrics_url: str
    pool: Pool
    """Of the same database."""
    clients: AsyncExitStack

    async def client(self, role: Role = Role.ADMIN, tenant: str = "default", name: str = "") -> httpx.AsyncClient:
        """A client with a new key of its own."""
        made = await Keys(self.pool).create(tenant, name or f"{role}-{tenant}", role, by="test", replace=True)
        return await self.with_secret(made.secret)

    async def with_secret(self, secret: str | None) -> httpx.AsyncClient:
        """A client with this key, or with none."""
        headers = {} if secret is None else {"Authorization": f"Bearer {secret}"}
        return await self.clients.enter_async_context(httpx.AsyncClient(base_url=self.url, headers=headers, timeout=30))

    async def rows(self) -> dict[str, int]:
        """Rows of every table, to show that something wrote nothing."""
        tables = await self.pool.fetch("select tablename from pg_tables where schemaname = 'public'")
        return {row[0]: await self.pool.fetchval(f'select count(*) from "{row[0]}"') for row in tables}


@pytest.fixture
def settings(dsn: str, temporal_address: str, tmp_path_factory: pytest.TempPathFactory, task_queue: str) -> Settings:
    """Settings of the gateway under test; a test may override this."""
    price_file = tmp_path_factory.mktemp("prices") / "prices.json"
    price_file.write_text(PRICES)
    return Settings(
        dsn=dsn,
        temporal_address=temporal_address,
        task_queue=task_queue,
        gateway_port=free_port(),
        metrics_port=free_port(),
        price_file=price_file,
        sweep_every_s=1,
        dashboard=False,  # NiceGUI is one per process, gateways of tests are many
    )


@asynccontextmanager
async def running_gateway(settings: Settings) -> AsyncIterator[RunningGateway]:
    """A gateway of this process, until the end of the block."""
    assert settings.dsn is not None
    stop, ready = asyncio.Event(), asyncio.Event()
    serving = asyncio.create_task(run_gateway(settings, stop, ready.set))
    waiting = asyncio.create_task(ready.wait())
    await asyncio.wait((serving, waiting), return_when=asyncio.FIRST_COMPLETED)
    if serving.done():
        waiting.cancel()
        await serving
    try:
        async with AsyncExitStack() as clients, await create_pool(settings.dsn, size=3) as pool:
            url = f"http://127.0.0.1:{settings.gateway_port}"
            yield RunningGateway(url, f"http://127.0.0.1:{settings.metrics_port}/metrics", pool, clients)
    finally:
        stop.set()
        await serving


@pytest.fixture
async def gateway(settings: Settings) -> AsyncIterator[RunningGateway]:
    async with running_gateway(settings) as running:
        yield running


@pytest.fixture
async def admin(gateway: RunningGateway) -> httpx.AsyncClient:
    """A client that may do everything, named `ada`."""
    return await gateway.client(Role.ADMIN, name="ada")


@pytest.fixture
async def agent(gateway: RunningGateway) -> httpx.AsyncClient:
    """A client that holds and runs tasks, named `backend`."""
    return await gateway.client(Role.AGENT, name="backend")
