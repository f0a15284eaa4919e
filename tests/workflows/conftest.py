"""A world for tasks, with a worker that runs meanwhile."""

from collections.abc import AsyncIterator

import pytest
from temporalio.client import Client

from tests.support.world import World, world


@pytest.fixture
async def idle(dsn: str, temporal_client: Client, task_queue: str) -> AsyncIterator[World]:
    """A world whose worker the test starts itself."""
    async with world(dsn, temporal_client, task_queue) as made:
        yield made


@pytest.fixture
async def house(idle: World) -> AsyncIterator[World]:
    """A world with a worker."""
    async with idle.worker():
        yield idle
