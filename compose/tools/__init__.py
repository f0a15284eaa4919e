"""Tools that Purser ships: those of recorded conversations, and those of the demo.

Each is an activity that takes and returns a reference, as any tool of a task.
"""

from collections.abc import Callable, Sequence
from typing import Any

import httpx

from activities.postgres.agents import Agents
from activities.tools import Tools
from budget.postgres.connection import Pool
from compose.recordings.tasks import TOOL_ACTIVITY
from compose.tools.recorded import RecordedTool
from compose.tools.records import RecordTools

SHIPPED = (TOOL_ACTIVITY, "look_up", "add_up")
"""Their names."""


def shipped_tools(pool: Pool, client: httpx.AsyncClient) -> Sequence[Callable[..., Any]]:
    """All of them, ready for a worker.

    Args:
        pool: of the database that holds tasks and conversations.
        client: for requests to the provider of recordings.
    """
    tools = Tools(pool)
    records = RecordTools(tools)
    return (RecordedTool(tools, Agents(pool), client).recorded_tool, records.look_up, records.add_up)
