"""Fixtures of workflow tests: a world for tasks, without and with a running worker."""

from collections.abc import AsyncIterator

import pytest
from temporalio.client import Client

from tests.support.world import World, world


@pytest.fixture
async def idle(dsn: str, temporal_client: Client, task_queue: str) -> AsyncIterator[World]:
    """A world without a worker; the test starts it."""
    async with world(dsn, temporal_client, task_queue) as made:
        yield made


@pytest.fixture
async def system(idle: World) -> AsyncIterator[World]:
    """A world with a running worker."""
    async with idle.worker():
        yield idle
