"""The activity `record_tool_failure`: stores the failure of a tool call as its result, so that the model sees it."""

from dataclasses import dataclass

from temporalio import activity

from purser.activities.errors import InvalidArguments
from purser.activities.tools import Tools
from purser.workflows.contract import ActivityName, ToolFailure, ToolResult

UNKNOWN, BUDGET = "unknown_tool", "budget"


@dataclass(frozen=True)
class RecordToolFailure:
    """The activity `record_tool_failure`."""

    tools: Tools

    @activity.defn(name=ActivityName.RECORD_TOOL_FAILURE)
    async def record_tool_failure(self, failure: ToolFailure) -> ToolResult:
        """Stores the failure as the call's result, unless the tool has stored one after all."""
        return await self.tools.store_result(failure.call, await self._text(failure))

    async def _text(self, failure: ToolFailure) -> str:
        if failure.kind == BUDGET:
            return "error: the budget has no room for this tool; go on without it"
        if failure.kind != UNKNOWN:
            return f"error: the tool failed ({failure.kind})"
        try:
            await self.tools.load_arguments(failure.call)
        except InvalidArguments:
            return "error: the tool did not run, because its arguments are not a complete JSON object"
        return "error: there is no tool of this name; use one of those that were declared"
