"""`/healthz` and `/readyz`."""

import asyncio
from collections.abc import Mapping
from contextlib import AsyncExitStack

import httpx
import pytest
from fastapi import FastAPI
from temporalio.client import Client

from purser.budget.postgres.connections.pools import create_pool
from purser.compose.errors import TooManyConnections
from purser.compose.migrate import current
from purser.compose.processes.readiness import readiness
from purser.compose.stack.ports import LOOPBACK, free_port
from purser.gateway import health
from purser.gateway.health import Check, health_router
from tests.gateway.conftest import RunningGateway
from tests.support.servers.clients import plain_client
from tests.support.servers.postgres_proxy import Trap, When, postgres_proxy

PARTS = ["postgres", "pool", "schema", "temporal", "namespace"]


async def test_a_running_gateway_is_alive_and_ready_without_a_key(gateway: RunningGateway) -> None:
    async with plain_client(base_url=gateway.url) as client:
        assert (await client.get("/healthz")).json() == {"status": "alive"}
        ready = await client.get("/readyz")
        assert (ready.status_code, ready.json()) == (200, {"status": "ready", "checks": PARTS})


@pytest.mark.usefixtures("own_gateway")
async def test_a_schema_that_is_behind_is_named_as_missing(
    gateway: RunningGateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health, "CACHED_S", 0.0)
    await gateway.pool.execute("update alembic_version set version_num = '0001_initial'")
    async with plain_client(base_url=gateway.url) as client:
        answer = await client.get("/readyz")
        async with asyncio.timeout(60):
            while answer.status_code == 200:  # what was seen a moment ago
                await asyncio.sleep(0.05)
                answer = await client.get("/readyz")
    assert answer.status_code == 503
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["detail"] == "missing: schema"


async def test_a_pool_without_a_free_connection_is_named_and_postgres_is_not(dsn: str, temporal_client: Client) -> None:
    async with await create_pool(dsn, size=2) as pool, AsyncExitStack() as held:
        for _ in range(2):
            await held.enter_async_context(pool.acquire())
        assert await missing(readiness(dsn, pool, temporal_client)) == ["pool"]


async def test_a_connection_of_the_pool_that_does_not_answer_is_named_and_replaced(
    dsn: str, temporal_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("purser.compose.processes.readiness.POOL_WAIT_S", 0.2)
    freed = asyncio.Event()
    async with postgres_proxy(dsn) as proxy, await create_pool(proxy.dsn, size=1) as pool:
        proxy.set(Trap("SELECT 1", When.BEFORE, freed.wait))
        assert await missing(readiness(dsn, pool, temporal_client)) == ["pool"]
        assert await pool.fetchval("select 2") == 2, "the next connection is a new one"
        freed.set()


async def test_a_postgres_that_accepts_no_further_connection_is_ready_as_long_as_the_pool_is(
    dsn: str, temporal_client: Client
) -> None:
    async with await create_pool(dsn, size=2) as pool:
        role = f"crowded_{await pool.fetchval('select current_database()')}"
        await pool.execute(f'create role "{role}" login connection limit 0')
        full = dsn.replace("://postgres:", f"://{role}:")
        try:
            with pytest.raises(TooManyConnections) as refused:
                await current(full)
            async with asking(readiness(full, pool, temporal_client)) as client:
                assert (await client.get("/readyz")).status_code == 200
        finally:
            await pool.execute(f'drop role "{role}"')
    assert "max_connections" in refused.value.remedy


async def test_a_postgres_that_is_read_only_is_named(dsn: str, temporal_client: Client) -> None:
    async with await create_pool(dsn, size=2) as pool:
        name = await pool.fetchval("select current_database()")
        await pool.execute(f'alter database "{name}" set default_transaction_read_only = on')
        assert await missing(readiness(dsn, pool, temporal_client)) == ["postgres"]


async def test_a_namespace_that_is_gone_is_named_and_temporal_is_not(dsn: str, temporal_address: str) -> None:
    client = await Client.connect(temporal_address, namespace="gone")
    async with await create_pool(dsn, size=2) as pool:
        assert await missing(readiness(dsn, pool, client)) == ["namespace"]


async def test_a_temporal_that_is_away_is_named_alone(dsn: str) -> None:
    client = await Client.connect(f"{LOOPBACK}:{free_port()}", lazy=True)
    async with await create_pool(dsn, size=2) as pool:
        assert await missing(readiness(dsn, pool, client)) == ["temporal"]


async def test_a_load_balancer_can_leave_out_what_holds_do_not_need() -> None:
    async with asking({"postgres": up, "temporal": down}) as client:
        assert (await client.get("/readyz")).status_code == 503
        ready = await client.get("/readyz", params={"exclude": ["temporal", "namespace"]})
        assert (ready.status_code, ready.json()) == (200, {"status": "ready", "checks": ["postgres"]})
        assert (await client.get("/readyz", params={"exclude": "postgres"})).json()["detail"] == "missing: temporal"


async def test_a_postgres_that_is_away_is_named_and_its_schema_is_not(dsn: str, temporal_client: Client) -> None:
    async with await create_pool(dsn, size=2) as pool:
        away = readiness(f"postgresql://nobody@{LOOPBACK}:{free_port()}/nothing", pool, temporal_client)
        assert await missing(away) == ["postgres"]


async def test_a_postgres_that_hangs_is_named_and_its_schema_is_not(
    dsn: str, temporal_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("purser.compose.processes.readiness.SCHEMA_WAIT_S", 0.2)

    async def hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    port = free_port()
    async with await create_pool(dsn, size=2) as pool, await asyncio.start_server(hang, LOOPBACK, port):
        hanging = readiness(f"postgresql://nobody@{LOOPBACK}:{port}/nothing", pool, temporal_client)
        assert await missing(hanging) == ["postgres"]


async def missing(checks: Mapping[str, Check]) -> list[str]:
    """What `/readyz` names."""
    async with asking(checks) as client:
        answer = await client.get("/readyz")
    assert answer.status_code == 503, answer.text
    return str(answer.json()["detail"]).removeprefix("missing: ").split(", ")


def asking(checks: Mapping[str, Check]) -> httpx.AsyncClient:
    """A client of both endpoints alone."""
    app = FastAPI()
    app.include_router(health_router(checks))
    return plain_client(transport=httpx.ASGITransport(app), base_url="http://test")


async def up() -> None:
    """A dependency that is available."""


async def down() -> None:
    """A dependency that is not."""
    raise ConnectionError
