"""One database for each worker, emptied before every test; every test of the ledger ends with a clean audit."""

import asyncio
from collections.abc import AsyncIterator

import asyncpg
import pytest

from purser.budget.postgres.connections.pools import Pool
from tests.support.databases import create, empty
from tests.support.ledger import Books


@pytest.fixture(scope="session")
def own_database(postgres_server: str, template: str, worker_id: str) -> str:
    """DSN of this worker's database: making one for each test would take longer than most tests."""
    return asyncio.run(create(postgres_server, f"budget_{worker_id}", template))


@pytest.fixture
async def dsn(own_database: str) -> str:
    """A migrated database without rows."""
    connection = await asyncpg.connect(own_database)
    await empty(connection)
    await connection.close()
    return own_database


@pytest.fixture
async def books(pool: Pool) -> AsyncIterator[Books]:
    """A ledger in which only the budgets that a test sets are limited; the audit is clean when the test ends."""
    made = Books.on(pool)
    yield made
    await made.check()
