"""One database for each worker, emptied before every test; every test of the ledger ends with a clean audit."""

from collections.abc import AsyncIterator

import pytest

from purser.budget.postgres.connections.pools import Pool
from tests.support.ledger import Books


@pytest.fixture
def dsn(emptied_dsn: str) -> str:
    """A migrated database without rows."""
    return emptied_dsn


@pytest.fixture
def pool(emptied_pool: Pool) -> Pool:
    """Connections to `dsn`."""
    return emptied_pool


@pytest.fixture
async def books(pool: Pool) -> AsyncIterator[Books]:
    """A ledger in which only the budgets that a test sets are limited; the audit is clean when the test ends."""
    made = Books.on(pool)
    yield made
    await made.check()
