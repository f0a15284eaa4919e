"""`tool_recorded`: a tool that returns the recorded result of its call."""

import re
from dataclasses import dataclass

import httpx
from temporalio import activity
from temporalio.exceptions import ApplicationError

from purser.activities.postgres.agents import Agents
from purser.activities.tools import Tools
from purser.compose.demo.recordings.tasks import TOOL_ACTIVITY
from purser.workflows.contract import ToolCall, ToolResult

_RECORDING = re.compile(r"(.+/r/[^/]+)/[^/]+/v1/?")
"""An agent's address at the provider; the group ends with the name of its recording."""


@dataclass(frozen=True)
class RecordedTool:
    """Fetches results from the provider that serves the recording."""

    tools: Tools
    agents: Agents
    client: httpx.AsyncClient

    @activity.defn(name=TOOL_ACTIVITY)
    async def recorded_tool(self, call: ToolCall) -> ToolResult:
        """Stores the recorded result of a call."""
        task = (await self.agents.task_record(call.tenant, call.task_id)).task
        found = _RECORDING.fullmatch(task.agent(call.agent_id).api_base or "")
        if found is None:
            raise ApplicationError("the agent's api_base names no recording", type="NoRecording", non_retryable=True)
        response = await self.client.get(f"{found[1]}/tools/{(await self.tools.called(call)).call_id}")
        if response.status_code == httpx.codes.NOT_FOUND:
            raise ApplicationError("the recording has no such call", type="NotRecorded", non_retryable=True)
        response.raise_for_status()
        return await self.tools.store_result(call, response.json()["content"])
