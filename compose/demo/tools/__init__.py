"""Tools of the demo and of recorded conversations, run by a worker of their own, as a user's tools are.

Each is an activity that takes and returns a reference, as any tool of a task. `python -m purser.compose.demo.tools`
runs them beside a Purser that runs already.
"""

import httpx
from temporalio.client import Client
from temporalio.worker import Worker

from purser.activities.postgres.agents import Agents
from purser.activities.tools import Tools
from purser.budget.postgres.connections.pools import Pool
from purser.compose.demo.recordings.tasks import TOOL_QUEUE
from purser.compose.demo.tools.recorded import RecordedTool
from purser.compose.demo.tools.records import RecordTools


def tool_worker(temporal: Client, pool: Pool, client: httpx.AsyncClient, queue: str = TOOL_QUEUE) -> Worker:
    """A worker of all of them.

    Args:
        temporal: where tasks run.
        pool: of the database that holds tasks and conversations.
        client: for requests to the provider of recordings.
        queue: task queue that tasks name for these tools.
    """
    tools = Tools(pool)
    records = RecordTools(tools)
    recorded = RecordedTool(tools, Agents(pool), client)
    return Worker(temporal, task_queue=queue, activities=[recorded.recorded_tool, records.look_up, records.add_up])
