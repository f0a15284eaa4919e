"""`/healthz` and `/readyz`."""

import httpx

from tests.gateway.conftest import RunningGateway


async def test_a_running_gateway_is_alive_and_ready_without_a_key(gateway: RunningGateway) -> None:
    async with httpx.AsyncClient(base_url=gateway.url) as client:
        assert (await client.get("/healthz")).json() == {"status": "alive"}
        ready = await client.get("/readyz")
        assert (ready.status_code, ready.json()) == (
            200,
            {"status": "ready", "checks": ["postgres", "schema", "temporal"]},
        )


async def test_a_schema_that_is_behind_is_named_as_missing(gateway: RunningGateway) -> None:
    await gateway.pool.execute("update alembic_version set version_num = '0001_ledger'")
    async with httpx.AsyncClient(base_url=gateway.url) as client:
        answer = await client.get("/readyz")
    assert answer.status_code == 503
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["detail"] == "missing: schema"
