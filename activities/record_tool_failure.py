"""Turns a tool call that failed for good into a result, so that the model learns of it."""

from dataclasses import dataclass

from temporalio import activity

from purser.activities.tools import Tools
from purser.workflows.contract import ActivityName, ToolFailure, ToolResult

UNKNOWN = "unknown_tool"


@dataclass(frozen=True)
class RecordToolFailure:
    """Records failures of tools."""

    tools: Tools

    @activity.defn(name=ActivityName.RECORD_TOOL_FAILURE)
    async def record_tool_failure(self, failure: ToolFailure) -> ToolResult:
        """Stores that the tool failed, unless it has stored a result after all."""
        if failure.kind == UNKNOWN:
            text = "error: there is no tool of this name; use one of those that were declared"
        else:
            text = f"error: the tool failed ({failure.kind})"
        return await self.tools.store_result(failure.call, text)
