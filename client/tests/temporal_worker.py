"""The worker of a project with an agent in a workflow. As a process it can be killed.

A folder of a framework offers `project.py` with the workflow `Greeting` and `plugins()` of the framework, and where it
needs more than the names of its activities, `OPTIONS` for the plugin. Arguments: name of the folder, task queue.
"""

import asyncio
import importlib
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

# Read here: the first call reads it otherwise, and holds the event loop for seconds, in which no heartbeat is sent.
import openai.resources  # noqa: F401
from doors import words
from temporalio.client import Client
from temporalio.common import RetryPolicy
from temporalio.worker import Worker

from purser_client import AsyncPurser
from purser_client.temporal import PurserPlugin

OF_A_CALL: Any = {
    "start_to_close_timeout": timedelta(minutes=2),
    "heartbeat_timeout": timedelta(seconds=5),
    "retry_policy": RetryPolicy(initial_interval=timedelta(milliseconds=50), backoff_coefficient=1),
}
"""Options of the model activities."""


@asynccontextmanager
async def working(project: Any, purser: AsyncPurser, task_queue: str, **options: Any) -> AsyncIterator[Client]:
    """A worker with both plugins until the end of the block."""
    budget = PurserPlugin(purser, **getattr(project, "OPTIONS", {}) | options)
    client = await Client.connect(os.environ["PURSER_TEMPORAL_ADDRESS"], plugins=[*project.plugins(), budget])
    async with Worker(
        client,
        task_queue=task_queue,
        workflows=[project.Greeting],
        build_id="doors",  # made without reading every module of the framework
        max_heartbeat_throttle_interval=timedelta(seconds=1),  # a heartbeat brings the news of a cancellation
        sticky_queue_schedule_to_start_timeout=timedelta(seconds=1),  # a killed worker keeps its workflows this long
    ):
        yield client


def project_of(folder: str) -> Any:
    """The project of a framework."""
    return importlib.import_module(f"client.tests.{folder}.project")


async def main(folder: str, task_queue: str) -> None:
    """Works until it is killed."""
    async with AsyncPurser(count=words) as purser, working(project_of(folder), purser, task_queue):
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
