"""One database for each worker, emptied before every test; every test of the ledger ends with a clean audit."""

import asyncio
from collections.abc import AsyncIterator

import asyncpg
import pytest

from budget.postgres.connection import Pool
from tests.support.ledger import Books

EMPTY = """
do $$ begin
    execute (select 'truncate ' || string_agg(quote_ident(tablename), ', ') || ' restart identity cascade'
             from pg_tables where schemaname = 'public' and tablename <> 'alembic_version');
end $$
"""


@pytest.fixture(scope="session")
def own_database(postgres_server: str, template: str, worker_id: str) -> str:
    """DSN of this worker's database: making one for each test would take longer than most tests."""
    name = f"budget_{worker_id}"

    async def create() -> None:
        connection = await asyncpg.connect(postgres_server)
        await connection.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
        await connection.close()

    asyncio.run(create())
    return postgres_server.replace("/postgres?", f"/{name}?")


@pytest.fixture
async def dsn(own_database: str) -> str:
    """A migrated database without rows."""
    connection = await asyncpg.connect(own_database)
    await connection.execute("set session_replication_role = replica")  # triggers that protect rows stand aside
    await connection.execute(EMPTY)
    await connection.close()
    return own_database


@pytest.fixture
async def books(pool: Pool) -> AsyncIterator[Books]:
    """A ledger in which only the budgets that a test sets are limited; the audit is clean when the test ends."""
    made = Books.on(pool)
    yield made
    await made.check()
