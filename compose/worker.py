"""The worker process: workflows, activities, and the sweeper."""

import asyncio
from collections.abc import Callable

from budget.postgres.connection import create_pool
from compose.migrate import require_schema
from compose.settings import Settings
from compose.settings.required import required
from compose.temporal import connect


async def run_worker(settings: Settings, stop: asyncio.Event, ready: Callable[[], None]) -> None:
    """Work until `stop`; calls `ready` once the task queue is polled.

    Raises:
        SchemaMismatch: the database is not migrated.
        Unreachable: Temporal does not answer.
    """
    dsn = required(settings, "dsn")
    await require_schema(dsn)
    await connect(settings)
    async with await create_pool(dsn):
        ready()
        await stop.wait()
