"""A session for compressions."""

from collections.abc import AsyncIterator

import pytest

from purser.budget.postgres.connections.pools import Pool
from purser.compose.demo.provider import Provider, serve_provider
from tests.support.compressing import Room
from tests.support.conversations import talk


@pytest.fixture
async def provider() -> AsyncIterator[Provider]:
    """A model provider on loopback."""
    async with serve_provider() as provider:
        yield provider


@pytest.fixture
async def room(pool: Pool, provider: Provider) -> AsyncIterator[Room]:
    """A session of 200 messages; the audit is clean when the test ends, and no claim is left."""
    room = Room.on(pool, provider)
    await room.say(*talk(200))
    yield room
    await room.books.check()
    assert await room.claims() == 0
