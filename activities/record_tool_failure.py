"""The activity `record_tool_failure`: stores the failure of a tool call as its result, so that the model sees it."""

from dataclasses import dataclass

from temporalio import activity

from purser.activities.tools import Tools
from purser.workflows.contract import ActivityName, ToolFailure, ToolResult

UNKNOWN = "unknown_tool"


@dataclass(frozen=True)
class RecordToolFailure:
    """The activity `record_tool_failure`."""

    tools: Tools

    @activity.defn(name=ActivityName.RECORD_TOOL_FAILURE)
    async def record_tool_failure(self, failure: ToolFailure) -> ToolResult:
        """Stores the failure as the call's result, unless the tool has stored one after all."""
        if failure.kind == UNKNOWN:
            text = "error: there is no tool of this name; use one of those that were declared"
        else:
            text = f"error: the tool failed ({failure.kind})"
        return await self.tools.store_result(failure.call, text)
