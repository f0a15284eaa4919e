"""A session for compressions."""

from collections.abc import AsyncIterator

import pytest

from purser.budget.postgres.connections.pools import Pool
from purser.compose.demo.provider import Provider, serve_provider
from tests.support.context.compressing import CompressionHarness
from tests.support.context.conversations import talk


@pytest.fixture
def dsn(emptied_dsn: str) -> str:
    """A migrated database without rows, one for each worker."""
    return emptied_dsn


@pytest.fixture
def pool(emptied_pool: Pool) -> Pool:
    """Connections to `dsn`."""
    return emptied_pool


@pytest.fixture
async def provider() -> AsyncIterator[Provider]:
    """A model provider on loopback."""
    async with serve_provider() as provider:
        yield provider


@pytest.fixture
async def harness(pool: Pool, provider: Provider) -> AsyncIterator[CompressionHarness]:
    """A session of 200 messages; the audit is clean when the test ends, and no claim is left."""
    harness = CompressionHarness.on(pool, provider)
    await harness.say(*talk(200))
    yield harness
    await harness.books.check()
    assert await harness.claims() == 0
