"""`python -m purser.compose.demo.tools`: runs a worker with the tools of the demo.

It requires PURSER_DSN and PURSER_TEMPORAL_ADDRESS.
"""

import asyncio
import sys

import httpx

from purser.budget.postgres.connections.pools import create_pool
from purser.compose.cli.run_async import until_stopped
from purser.compose.demo.tools import tool_worker
from purser.compose.settings import load_settings
from purser.compose.settings.required import required
from purser.compose.temporal import connect


async def main(stop: asyncio.Event) -> None:
    """Runs until it is stopped; prints `ready` once it polls."""
    settings = load_settings()
    temporal = await connect(settings)
    async with (
        await create_pool(required(settings, "dsn"), size=2) as pool,
        httpx.AsyncClient() as client,
        tool_worker(temporal, pool, client),
    ):
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        await stop.wait()


if __name__ == "__main__":
    until_stopped(main)
