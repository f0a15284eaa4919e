"""Fixtures of workflow tests: a world for tasks, without and with a running worker."""

from collections.abc import AsyncIterator

import pytest
from temporalio.client import Client

from purser.activities.models.litellm_library import litellm_library
from tests.support.world import World, world


@pytest.fixture(autouse=True)
def _imported() -> None:
    """Imports LiteLLM, which on a busy machine takes longer than a test waits."""
    litellm_library()


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
