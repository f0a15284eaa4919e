"""A real gateway over real HTTP, and the shared Temporal server.

One gateway serves all tests of a worker, on a database that is empty when a test begins. A test gets a gateway and a
database of its own where it asks for `own_gateway`, `settings`, `dsn` or `pool`, or where its file or class overrides
`settings`. It needs them if it changes the schema, counts metrics, takes something away, or holds tokens on a session
of a user whose name other tests use as well: a gateway remembers whose a session is.
Tests of the proxy share another one, which leads to their provider.
"""

import asyncio
import subprocess
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import httpx
import pytest
from pydantic import SecretStr

from purser.budget.postgres.connections.pools import Pool, create_pool
from purser.compose.migrate import migrate
from purser.compose.processes.gateway import run_gateway
from purser.compose.settings import Settings
from purser.compose.stack.lock import FileLock
from purser.compose.stack.ports import LOOPBACK
from purser.compose.stack.postgres import EmbeddedPostgres
from purser.gateway.access.roles import Role
from purser.gateway.access.sealing import new_key
from purser.gateway.postgres.keys import Keys
from purser.gateway.webhooks import delivery
from tests.support.actors import TESTER
from tests.support.databases import Cleaners, WarmPools, create
from tests.support.servers.clients import plain_client
from tests.support.servers.ports import reserved_port
from tests.support.servers.webhooks import Receiver, receiving
from tests.support.threads import in_task, in_thread

PRICES = '{"priced-model": {"input_cost_per_token": 1e-06, "output_cost_per_token": 4e-06}}'

TABLES = "select tablename from pg_tables where schemaname = 'public' and tablename <> all ($1)"
BACKGROUND = ["balance_samples", "balance_sampling", "checkpoints", "checkpoint_horizon"]
"""Tables that a gateway writes by itself, once a minute or less often."""


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
        made = await Keys(self.pool).create(tenant, name or f"{role}-{tenant}", role, by=TESTER, replace=True)
        return await self.with_secret(made.secret)

    async def with_secret(self, secret: str | None) -> httpx.AsyncClient:
        """A client with this key, or with none."""
        headers = {} if secret is None else {"Authorization": f"Bearer {secret}"}
        return await self.clients.enter_async_context(plain_client(base_url=self.url, headers=headers, timeout=120))

    async def rows(self) -> dict[str, int]:
        """Rows of every table that requests write, to show that one wrote nothing."""
        tables = await self.pool.fetch(TABLES, BACKGROUND)
        counts = " union all ".join(f"select '{row[0]}', (select count(*) from \"{row[0]}\")" for row in tables)
        return {row[0]: row[1] for row in await self.pool.fetch(counts)}


@pytest.fixture(scope="session")
def hook_port() -> Iterator[int]:
    """Of the one address that webhooks may be sent to."""
    with reserved_port() as port:
        yield port


@pytest.fixture(scope="session")
def migrated_data(run_dir: Path) -> Path:
    """Data of a Postgres that has ended, migrated once per run: on a copy, a server starts in a tenth of the time."""

    async def make(folder: Path) -> None:
        server = EmbeddedPostgres(folder)
        try:
            await migrate(await server.start())
        finally:
            await asyncio.to_thread(server.stop)

    made = run_dir / "migrated-postgres"
    with FileLock(run_dir / "migrated-postgres.making"):
        if not made.exists():
            new = run_dir / f"migrated-{uuid.uuid4().hex[:8]}"
            asyncio.run(make(new))
            new.rename(made)
    return made


@pytest.fixture
async def stoppable_postgres(migrated_data: Path, tmp_path: Path) -> AsyncIterator[EmbeddedPostgres]:
    """A server of the test's own that has not started yet."""
    # Keeps the owner, which is not the user of the tests where that is root.
    await asyncio.to_thread(subprocess.check_call, ["cp", "-a", migrated_data, tmp_path / "postgres"])
    server = EmbeddedPostgres(tmp_path / "postgres")
    yield server
    await asyncio.to_thread(server.stop)


@pytest.fixture(scope="session")
def plain_settings(temporal_address: str, hook_port: int, tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """Settings of every gateway, without a database and ports."""
    price_file = tmp_path_factory.mktemp("prices") / "prices.json"
    price_file.write_text(PRICES)
    return Settings(
        temporal_address=temporal_address,
        price_file=price_file,
        sweep_every_s=1,
        webhook_targets=(f"http://{LOOPBACK}:{hook_port}/hooks",),
        public_url="https://purser.example.com",
        secrets_key=SecretStr(new_key()),
        compress_sessions=False,
        audit_every_s=0,
    )


@pytest.fixture
def settings(plain_settings: Settings, dsn: str, task_queue: str) -> Iterator[Settings]:
    """Settings of a gateway of the test's own; a test may override this."""
    with on(plain_settings, dsn, task_queue) as made:
        yield made


@pytest.fixture
def other_settings(settings: Settings) -> Iterator[Settings]:
    """Settings of a second gateway on the same database."""
    with on(settings, settings.dsn, settings.task_queue) as made:
        yield made


@contextmanager
def on(plain: Settings, dsn: str | None, task_queue: str) -> Iterator[Settings]:
    """Settings with a database, a task queue and ports that no other process gets until the end of the block."""
    with reserved_port() as gateway, reserved_port() as metrics:
        ports = {"gateway_port": gateway, "metrics_port": metrics}
        yield plain.model_copy(update={"dsn": dsn, "task_queue": task_queue} | ports)


@asynccontextmanager
async def running_gateway(settings: Settings) -> AsyncIterator[RunningGateway]:
    """A gateway of this process, until the end of the block."""
    async with in_task(lambda stop, ready: run_gateway(settings, stop, ready)), reaching(settings) as gateway:
        yield gateway


@asynccontextmanager
async def reaching(settings: Settings) -> AsyncIterator[RunningGateway]:
    """What reaches a gateway with these settings from this event loop."""
    assert settings.dsn is not None
    async with await create_pool(settings.dsn, size=3) as pool, reaching_with(settings, pool) as running:
        yield running


@asynccontextmanager
async def reaching_with(settings: Settings, pool: Pool) -> AsyncIterator[RunningGateway]:
    """What reaches a gateway with these settings, and its database by this pool."""
    async with AsyncExitStack() as clients:
        url = f"http://127.0.0.1:{settings.gateway_port}"
        yield RunningGateway(url, f"http://127.0.0.1:{settings.metrics_port}/metrics", pool, clients)


@pytest.fixture
async def own_gateway(settings: Settings) -> AsyncIterator[RunningGateway]:
    """A gateway of the test's own."""
    async with running_gateway(settings) as running:
        yield running


@contextmanager
def serving(plain: Settings, dsn: str) -> Iterator[Settings]:
    """A gateway of many tests, until the end of the block. It runs in a thread, with an event loop of its own."""
    # Tests guess keys and ask every endpoint without one, from one address.
    without_limits = plain.model_copy(update={"sign_in_failures_per_min": 0, "open_requests_per_s": 0})
    with (
        on(without_limits, dsn, f"gateway-{uuid.uuid4()}") as settings,
        in_thread(lambda stop, ready: run_gateway(settings, stop, ready)),
    ):
        yield settings


@pytest.fixture(scope="session")
def common_settings(
    plain_settings: Settings, postgres_server: str, template: str, worker_id: str
) -> Iterator[Settings]:
    """Settings of the gateway of all tests."""
    with serving(plain_settings, asyncio.run(create(postgres_server, f"gateway_{worker_id}", template))) as settings:
        yield settings


@pytest.fixture
async def emptied_settings(common_settings: Settings, cleaners: Cleaners) -> AsyncIterator[Settings]:
    """Settings of the gateway of all tests, whose database has no rows."""
    assert common_settings.dsn is not None
    async with cleaners.emptied(common_settings.dsn, numbers=False):
        yield common_settings


@pytest.fixture
async def common_gateway(emptied_settings: Settings, warm_pools: WarmPools) -> AsyncIterator[RunningGateway]:
    """The gateway of all tests, without a row in its database."""
    assert emptied_settings.dsn is not None
    async with reaching_with(emptied_settings, await warm_pools.of(emptied_settings.dsn)) as running:
        yield running


@pytest.fixture
def gateway(request: pytest.FixtureRequest) -> RunningGateway:
    """A gateway that answers: the common one, or the test's own (see above)."""
    manager, name = request.session._fixturemanager, "settings"
    overridden = len(manager.getfixturedefs(name, request.node) or ()) > 1
    asked = {"own_gateway", "settings", "dsn", "pool"} & set(request.fixturenames)
    found: RunningGateway = request.getfixturevalue("own_gateway" if overridden or asked else "common_gateway")
    return found


@pytest.fixture
async def admin(gateway: RunningGateway) -> httpx.AsyncClient:
    """A client that may do everything, named `ada`."""
    return await gateway.client(Role.ADMIN, name="ada")


@pytest.fixture
async def agent(gateway: RunningGateway) -> httpx.AsyncClient:
    """A client that holds and runs tasks, named `backend`."""
    return await gateway.client(Role.AGENT, name="backend")


@pytest.fixture
async def receiver(hook_port: int, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Receiver]:
    """A server at the address that the gateway may send to; what fails is sent again at once."""
    monkeypatch.setattr(delivery, "BACKOFF", (timedelta(seconds=0.1),) * 7)
    async with receiving(hook_port) as one:
        yield one
