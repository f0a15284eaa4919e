"""A database whose guards are there again after each test."""

from collections.abc import AsyncIterator

import pytest

from purser.budget.postgres.connections.pools import Pool
from tests.support.ledger import restore


@pytest.fixture
async def restored(pool: Pool) -> AsyncIterator[Pool]:
    """Has its guards again after the test."""
    yield pool
    await restore(pool)
