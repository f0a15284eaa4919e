"""A session for compressions."""

from collections.abc import AsyncIterator

import pytest

from purser.budget.postgres.connections.pools import Pool
from purser.compose.demo.provider import Provider, serve_provider
from tests.support.compressing import CompressionHarness
from tests.support.conversations import talk


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
