"""Runs a worker with one tool on its own task queue. Needs PURSER_DSN and PURSER_TEMPORAL_ADDRESS."""

import asyncio
import os

from temporalio import activity
from temporalio.client import Client
from temporalio.worker import Worker

from purser.activities.tools import Tools
from purser.budget.postgres.connections.pools import create_pool
from purser.workflows.contract import ToolCall, ToolResult


class Weather:
    """The tool `weather`."""

    def __init__(self, tools: Tools) -> None:
        self._tools = tools

    @activity.defn(name="tool_weather")
    async def weather(self, call: ToolCall) -> ToolResult:
        """Look up the weather. Arguments and result are stored in Postgres; Temporal sees only references."""
        _, arguments = await self._tools.load_arguments(call)
        return await self._tools.store_result(call, f"{arguments['place']}: sunny, wind force 3.")


async def main() -> None:
    """Run the worker until it is interrupted."""
    client = await Client.connect(os.environ["PURSER_TEMPORAL_ADDRESS"])
    async with await create_pool(os.environ["PURSER_DSN"], size=2) as pool:
        tool = Weather(Tools(pool))
        await Worker(client, task_queue="tools-weather", activities=[tool.weather]).run()


if __name__ == "__main__":
    asyncio.run(main())
