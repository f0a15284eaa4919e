"""Fixtures of workflow tests: a world for tasks, without and with a running worker."""

from collections.abc import AsyncIterator

import pytest
from temporalio.client import Client

from purser.activities.models.litellm_library import litellm_library
from purser.budget.postgres.connections.pools import Pool
from tests.support.world import World, world, world_of
from tests.support.world import quick_pool as quick_pool


@pytest.fixture(autouse=True)
def _imported() -> None:
    """Imports LiteLLM, which on a busy machine takes longer than a test waits."""
    litellm_library()


@pytest.fixture
async def still(emptied_pool: Pool, quick_pool: Pool, temporal_client: Client, task_queue: str) -> AsyncIterator[World]:
    """A world without a worker, in which nothing sweeps or sends the outbox."""
    async with world_of(emptied_pool, quick_pool, temporal_client, task_queue, background=False) as made:
        yield made


@pytest.fixture
async def idle(emptied_pool: Pool, quick_pool: Pool, temporal_client: Client, task_queue: str) -> AsyncIterator[World]:
    """A world without a worker; the test starts it. It shares its database: see `own_idle`."""
    async with world_of(emptied_pool, quick_pool, temporal_client, task_queue) as made:
        yield made


@pytest.fixture
async def own_idle(dsn: str, temporal_client: Client, task_queue: str) -> AsyncIterator[World]:
    """A world without a worker, whose database is the test's own: it may change the schema."""
    async with world(dsn, temporal_client, task_queue) as made:
        yield made


@pytest.fixture
async def system(idle: World) -> AsyncIterator[World]:
    """A world with a running worker."""
    async with idle.worker():
        yield idle
