"""Fixtures of all tests: a real Postgres with a fresh database per test, and a real Temporal server.

Outside CI a test may skip when something is missing on the machine, with the line that provides it. With `CI=true`
every skip is a failure.
"""

import asyncio
import gc
import os
import shutil
import signal
import tempfile
import time
import uuid
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import asyncpg
import pytest
from hypothesis import HealthCheck, settings
from temporalio.client import Client

from purser.budget.postgres.connections.pools import Pool, create_pool
from purser.compose.migrate import migrate
from purser.compose.stack.lock import FileLock
from purser.compose.stack.postgres import EmbeddedPostgres
from purser.compose.stack.temporal import EmbeddedTemporal
from tests.support.databases import Cleaners, WarmPools, create, fresh_database, named
from tests.support.runs.outcomes import pytest_configure as draw_seed
from tests.support.runs.outcomes import pytest_make_collect_report as pytest_make_collect_report
from tests.support.runs.outcomes import pytest_runtest_makereport as pytest_runtest_makereport
from tests.support.runs.outcomes import pytest_terminal_summary as pytest_terminal_summary
from tests.support.runs.outcomes import seed as seed
from tests.support.runs.proof import pytest_collection_modifyitems as pytest_collection_modifyitems
from tests.support.servers.forked import Forks, start_forks
from tests.support.shared import Stop, shared

# How fast a machine is proves nothing: a busy one would fail tests whose rules hold.
settings.register_profile(
    "purser",
    max_examples=50,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    print_blob=True,
    derandomize="CI" in os.environ,
)
settings.load_profile("purser")

ROOT = Path(__file__).parent.parent
TEMPLATE = "purser_template"
MEMORY = 8 * 2**30
"""Bytes that have to be free in memory to keep databases there."""
_BASE = pytest.StashKey[str]()


# --- a place of this run's own ---------------------------------------------------------------------------------------


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Keeps the run out of pytest's common folder: each new run there closes it to other users, and as root the
    embedded Postgres is one."""
    draw_seed()
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # As a background job of a shell; commands that tests interrupt would ignore it too.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    gc.disable()  # until everything is imported
    if config.option.basetemp is None and not hasattr(config, "workerinput"):
        config.option.basetemp = config.stash[_BASE] = tempfile.mkdtemp(prefix="purser-tests-")


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    # One collection finds what tests have left. pytest runs five more, which would take half a second each.
    gc.collect()
    gc.freeze()
    if (base := session.config.stash.get(_BASE, None)) and exitstatus == pytest.ExitCode.OK:
        shutil.rmtree(base, ignore_errors=True)


def pytest_collection_finish() -> None:
    """Takes what was imported out of the collector's sight: it would look at all of it again and again."""
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real data beside the checkout (PURSER_TEST_DATA names another place)."""
    folder = Path(os.environ.get("PURSER_TEST_DATA") or ROOT.parent / "shared" / "data")
    if not folder.is_dir():
        pytest.skip("no data beside the checkout: put it at ../shared/data or set PURSER_TEST_DATA=DIR")
    return folder


# --- Postgres --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def run_dir(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """A directory common to all workers of this run."""
    base = tmp_path_factory.getbasetemp()
    return base if worker_id == "master" else base.parent


@pytest.fixture(scope="session")
def postgres_server(run_dir: Path) -> Iterator[str]:
    """DSN of the `postgres` database on the server that all workers of this run share."""

    def start() -> tuple[str, Stop]:
        home = Path(tempfile.mkdtemp(prefix="purser-tests-", dir=_memory() or run_dir))
        # It never crashes, so nothing has to reach the disk.
        quick = {"fsync": "off", "full_page_writes": "off"}
        server = EmbeddedPostgres(home / "postgres", {"max_connections": "600", "shared_buffers": "256MB", **quick})
        address = asyncio.run(server.start())

        def stop() -> None:
            server.stop()
            shutil.rmtree(home)

        return address, stop

    with shared(run_dir, "postgres", start) as dsn:
        yield dsn


def _memory() -> Path | None:
    """A place in memory with room enough. A database for every test is thousands of files made and deleted."""
    place = Path("/dev/shm")
    return place if place.is_dir() and shutil.disk_usage(place).free >= MEMORY else None


@pytest.fixture(scope="session")
def template(postgres_server: str, run_dir: Path) -> str:
    """Name of a migrated database without rows; migrated once per run."""

    async def create() -> None:
        connection = await asyncpg.connect(postgres_server)
        try:
            if await connection.fetchval("SELECT 1 FROM pg_database WHERE datname = $1", TEMPLATE) is None:
                await connection.execute(f"CREATE DATABASE {TEMPLATE} TEMPLATE template0")
            await migrate(named(postgres_server, TEMPLATE))
        finally:
            await connection.close()

    with FileLock(run_dir / "template.lock"):
        asyncio.run(create())
    return TEMPLATE


@pytest.fixture
async def dsn(postgres_server: str, template: str) -> AsyncIterator[str]:
    """A fresh, migrated database of this test's own."""
    async with fresh_database(postgres_server, template) as dsn:
        yield dsn


@pytest.fixture(scope="session")
def own_database(postgres_server: str, template: str, worker_id: str) -> str:
    """DSN of this worker's database: making one for each test would take longer than most tests."""
    return asyncio.run(create(postgres_server, f"own_{worker_id}", template))


@pytest.fixture(scope="session")
async def cleaners() -> AsyncIterator[Cleaners]:
    """Connections that empty databases between tests."""
    made = Cleaners()
    yield made
    await made.close()


@pytest.fixture
async def emptied_dsn(own_database: str, cleaners: Cleaners) -> AsyncIterator[str]:
    """The worker's database without rows. A test that changes its schema needs `dsn`."""
    async with cleaners.emptied(own_database):
        yield own_database


@pytest.fixture(scope="session")
async def warm_pools() -> AsyncIterator[WarmPools]:
    """Connections that stay open between tests."""
    made = WarmPools()
    yield made
    await made.close()


@pytest.fixture
async def emptied_pool(emptied_dsn: str, warm_pools: WarmPools) -> Pool:
    """Connections to `emptied_dsn`."""
    return await warm_pools.of(emptied_dsn)


@pytest.fixture
async def counting_pool(postgres_server: str, template: str) -> AsyncIterator[Pool]:
    """One connection to a database of this test's own, for what Postgres counts of it.

    Connections that earlier tests left open report what they read up to ten seconds late.
    """
    async with fresh_database(postgres_server, template) as dsn, await create_pool(dsn, size=1, timeout_s=60) as pool:
        yield pool


@pytest.fixture
async def empty_dsn(postgres_server: str) -> AsyncIterator[str]:
    """A fresh database without any schema."""
    async with fresh_database(postgres_server, "template0") as dsn:
        yield dsn


@pytest.fixture
async def pool(dsn: str) -> AsyncIterator[Pool]:
    """Connections to `dsn`."""
    async with await create_pool(dsn) as pool:
        yield pool


# --- Temporal --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def temporal_address(run_dir: Path) -> Iterator[str]:
    """Address of the Temporal dev server that all workers of this run share."""

    def start() -> tuple[str, Stop]:
        server = EmbeddedTemporal(
            run_dir / "temporal",
            dynamic_config={
                "frontend.WorkflowTimeSkippingEnabled": "true",
                "system.forceSearchAttributesCacheRefreshOnRead": "true",
            },
        )
        return asyncio.run(server.start()), server.stop

    with shared(run_dir, "temporal", start) as address:
        yield address
    # Threads of the client may abort an interpreter that exits right after its last loop (temporalio/sdk-python#300).
    time.sleep(0.5)


@pytest.fixture
async def temporal_client(temporal_address: str) -> Client:
    """A client of the namespace `default`."""
    return await Client.connect(temporal_address)


@pytest.fixture
def task_queue() -> str:
    """A task queue that no other test polls."""
    return f"test-{uuid.uuid4()}"


# --- processes of Purser ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def forks(run_dir: Path) -> Iterator[Forks]:
    """Processes of Purser whose imports all workers of this run share."""
    with shared(run_dir, "forks", lambda: start_forks(run_dir)) as address:
        yield Forks(address)
