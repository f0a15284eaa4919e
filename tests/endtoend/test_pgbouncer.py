"""Everything works behind PgBouncer in transaction mode, with fewer server connections than clients."""

import asyncio
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import asyncpg
import httpx
import pytest
from temporalio.client import Client

from purser.budget.postgres.connections.pools import create_pool
from purser.compose.migrate import current, head, migrate
from purser.compose.processes.gateway import run_gateway
from purser.compose.settings import Settings
from purser.compose.stack.ports import LOOPBACK, free_port
from purser.gateway.access.roles import Role
from purser.gateway.postgres.keys import Keys
from tests.support.actors import TESTER
from tests.support.threads import in_task
from tests.support.world import TENANT, eventually, world

pytestmark = pytest.mark.stack
SERVER_CONNECTIONS = 3
STARTS_WITHIN_S = 60.0
ENDS_WITHIN_S = 120.0


@pytest.fixture
def pooler(empty_dsn: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """DSN of a PgBouncer in front of this test's own, empty database."""
    found = shutil.which("pgbouncer", path=f"{os.environ['PATH']}:/usr/sbin")
    if found is None:
        pytest.skip("no pgbouncer: apt-get install pgbouncer")
    parts, port = urlsplit(empty_dsn), free_port()
    [sockets] = parse_qs(parts.query)["host"]
    folder = tmp_path_factory.mktemp("pgbouncer")
    config = folder / "pgbouncer.ini"
    config.write_text(
        f"""[databases]
{parts.path[1:]} = host={sockets} user={parts.username}
[pgbouncer]
listen_addr = {LOOPBACK}
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = {SERVER_CONNECTIONS}
max_client_conn = 200
"""
    )
    # It refuses to run as root; the owner of the server's socket may use it.
    other_user = ("-u", Path(sockets).owner()) if os.geteuid() == 0 else ()
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen([found, *other_user, str(config)], stdout=log, stderr=log)
    try:
        _wait(process, port, folder / "log")
        yield f"postgresql://{parts.username}@{LOOPBACK}:{port}{parts.path}?pgbouncer=true"
    finally:
        process.terminate()
        process.wait(STARTS_WITHIN_S)


def _wait(process: "subprocess.Popen[bytes]", port: int, log: Path) -> None:
    give_up = time.monotonic() + STARTS_WITHIN_S
    while True:
        assert process.poll() is None, log.read_text()
        with suppress(OSError), socket.create_connection((LOOPBACK, port)):
            return
        assert time.monotonic() < give_up, log.read_text()
        time.sleep(0.05)


async def test_a_database_is_migrated_through_it_again_and_again(pooler: str) -> None:
    for _ in range(3):
        assert await migrate(pooler) == head()
        assert await current(pooler) == head()


async def test_clients_that_take_turns_on_few_connections_meet_no_foreign_statement(pooler: str) -> None:
    async with AsyncExitStack() as stack:
        pools = [await stack.enter_async_context(await create_pool(pooler, size=10)) for _ in range(3)]

        async def ask(number: int) -> None:
            pool = pools[number % len(pools)]
            assert await pool.fetchval(f"select $1::int + {number % 7}", number) == number + number % 7
            assert await pool.fetchval("select $1::jsonb", {"n": number}) == {"n": number}

        await asyncio.gather(*map(ask, range(600)))


async def test_a_client_without_the_mark_meets_a_connection_that_does_not_know_its_statement(pooler: str) -> None:
    plain = pooler.removesuffix("?pgbouncer=true")
    async with AsyncExitStack() as stack:
        one, other = [
            await stack.enter_async_context(await asyncpg.create_pool(plain, min_size=1, max_size=1)) for _ in range(2)
        ]
        assert await one.fetchval("select $1::int", 1) == 1
        taking_it = await stack.enter_async_context(other.acquire())
        async with taking_it.transaction():
            assert await taking_it.fetchval("select $1::int", 2) == 2
            with pytest.raises(asyncpg.PostgresError, match="prepared statement"):
                await one.fetchval("select $1::int", 3)


async def test_a_limit_on_waiting_for_locks_holds_in_each_transaction_and_in_no_other(pooler: str) -> None:
    async with (
        await create_pool(pooler, size=2, lock_timeout_ms=123) as quick,
        await create_pool(pooler, size=2) as patient,
    ):
        for _ in range(5):
            assert await quick.fetchval("show lock_timeout") == "123ms"
            assert await patient.fetchval("show lock_timeout") == "0"


async def test_a_worker_completes_a_task_through_it(pooler: str, temporal_client: Client, task_queue: str) -> None:
    await migrate(pooler)
    async with world(pooler, temporal_client, task_queue) as system, system.worker():
        task_id = await system.submit(system.agent("a"), system.agent("b"), system.agent("c", depends_on=["a", "b"]))

        async def ended() -> str | None:
            task = await system.tasks.get(TENANT, task_id)
            return str(task["status"]) if task["ended_at"] else None

        assert await eventually(ended, ENDS_WITHIN_S) == "completed"


async def test_a_gateway_serves_holds_through_it(pooler: str, temporal_address: str, task_queue: str) -> None:
    await migrate(pooler)
    settings = Settings(
        dsn=pooler,
        temporal_address=temporal_address,
        task_queue=task_queue,
        gateway_port=free_port(),
        metrics_port=free_port(),
        sweep_every_s=1,
    )
    async with in_task(lambda stop, ready: run_gateway(settings, stop, ready)):
        async with await create_pool(pooler, size=1) as pool:
            made = await Keys(pool).create("default", "backend", Role.ADMIN, by=TESTER)
        headers = {"Authorization": f"Bearer {made.secret}"}
        url = f"http://{LOOPBACK}:{settings.gateway_port}"
        async with httpx.AsyncClient(base_url=url, headers=headers, timeout=60) as client:

            async def spend(number: int) -> None:
                body = {"key": f"k{number}", "path": ["session:s1", "task:t1"], "tokens": 100}
                held = (await client.post("/v1/holds", json=body)).json()
                settled = await client.post(
                    f"/v1/holds/{held['hold_id']}/settle", json={"attempt": 1, "usage": {"total": 60}}
                )
                assert settled.status_code == 200, settled.text

            await asyncio.gather(*map(spend, range(100)))
            assert (await client.get("/readyz")).status_code == 200
            budget = (await client.get("/v1/budgets/session:s1")).json()
            assert (budget["tokens"]["spent"], budget["tokens"]["held"]) == (6_000, 0)
