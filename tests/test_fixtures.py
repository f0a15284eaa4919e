"""The fixtures that all other tests use."""

import asyncpg
from temporalio.client import Client

Pool = asyncpg.Pool


async def test_each_test_gets_its_own_migrated_database(pool: "Pool[asyncpg.Record]") -> None:
    assert await pool.fetchval("SELECT version_num FROM alembic_version")
    await pool.execute("CREATE TABLE only_here (x int)")


async def test_no_test_sees_the_database_of_another(pool: "Pool[asyncpg.Record]") -> None:
    assert await pool.fetchval("SELECT to_regclass('only_here')") is None


async def test_the_temporal_server_answers(temporal_client: Client) -> None:
    assert await temporal_client.service_client.check_health()
