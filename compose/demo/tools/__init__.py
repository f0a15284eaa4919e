"""Tools of the demo and of recorded conversations, run by a separate worker, as a user's own tools are.

Each is an activity that receives and returns references, like any tool of a task. `python -m purser.compose.demo.tools`
runs them next to a running Purser.
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
    """A worker that runs all of them.

    Args:
        temporal: client of the Temporal where tasks run.
        pool: connections to the database of tasks and conversations.
        client: sends requests to the provider that serves recordings.
        queue: task queue that tasks name for these tools.
    """
    tools = Tools(pool)
    records = RecordTools(tools)
    recorded = RecordedTool(tools, Agents(pool), client)
    return Worker(temporal, task_queue=queue, activities=[recorded.recorded_tool, records.look_up, records.add_up])
