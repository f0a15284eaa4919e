"""One database for each worker, emptied before every test."""

import pytest

from purser.budget.postgres.connections.pools import Pool


@pytest.fixture
def dsn(emptied_dsn: str) -> str:
    """A migrated database without rows."""
    return emptied_dsn


@pytest.fixture
def pool(emptied_pool: Pool) -> Pool:
    """Connections to `dsn`."""
    return emptied_pool
