"""The tools of a reply, all at once. What they take and return are references; a failure becomes a result too."""

import asyncio
from collections.abc import Sequence

from temporalio import workflow
from temporalio.exceptions import ActivityError
from temporalio.workflow import ActivityConfig

from purser.workflows import options
from purser.workflows.contract import ActivityName, ToolCall, ToolFailure, ToolResult
from purser.workflows.steps import kind_of, noticing, step


async def run_tools(calls: Sequence[ToolCall]) -> None:
    """Runs the calls of one reply and waits for all of them."""
    await noticing(asyncio.gather(*map(_run_tool, calls)))


async def _run_tool(call: ToolCall) -> None:
    if not call.activity:
        await _failed(call, "unknown_tool")
        return
    config = ActivityConfig(**options.TOOL, task_queue=call.task_queue or workflow.info().task_queue)
    try:
        # What a tool returns is its own affair: its result stands in the conversation.
        await noticing(workflow.execute_activity(call.activity, call, **config))
    except ActivityError as error:
        await _failed(call, kind_of(error))


async def _failed(call: ToolCall, kind: str) -> None:
    await step(ActivityName.RECORD_TOOL_FAILURE, ToolFailure(call, kind), ToolResult, options.RECORD)
