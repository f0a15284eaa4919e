"""Runs the tool calls of a reply in parallel. Arguments and results are references; a failure becomes a result too."""

import asyncio
from collections.abc import Sequence

from temporalio import workflow
from temporalio.exceptions import ActivityError
from temporalio.workflow import ActivityConfig

from purser.workflows import options
from purser.workflows.contract import ActivityName, ToolCall, ToolFailure, ToolResult
from purser.workflows.steps import cancellable, failure_type, step


async def run_tools(calls: Sequence[ToolCall]) -> None:
    """Runs the tool calls of one reply and waits for all of them."""
    await cancellable(asyncio.gather(*map(_run_tool, calls)))


async def _run_tool(call: ToolCall) -> None:
    if not call.activity:
        await _failed(call, "unknown_tool")
        return
    config = ActivityConfig(**options.TOOL, task_queue=call.task_queue or workflow.info().task_queue)
    try:
        # The return value is ignored: the tool has stored its result in the conversation.
        await cancellable(workflow.execute_activity(call.activity, call, **config))
    except ActivityError as error:
        await _failed(call, failure_type(error))


async def _failed(call: ToolCall, kind: str) -> None:
    await step(ActivityName.RECORD_TOOL_FAILURE, ToolFailure(call, kind), ToolResult, options.RECORD)
