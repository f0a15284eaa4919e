"""Runs a worker with one tool on its own task queue.

PURSER_URL, PURSER_API_KEY: the gateway, and a key of role `agent`. PURSER_TEMPORAL_ADDRESS: Temporal.
"""

import asyncio
import os

from temporalio.client import Client
from temporalio.worker import Worker

from purser_client import AsyncPurser
from purser_client.temporal import tool


async def weather(place: str) -> str:
    """Look up the weather. Arguments and result are stored by the gateway; Temporal sees only references."""
    return f"{place}: sunny, wind force 3."


async def main() -> None:
    """Run the worker until it is interrupted."""
    client = await Client.connect(os.environ["PURSER_TEMPORAL_ADDRESS"])
    async with AsyncPurser() as purser:
        activities = [tool(purser, weather, name="tool_weather")]
        await Worker(client, task_queue="tools-weather", activities=activities).run()


if __name__ == "__main__":
    asyncio.run(main())
