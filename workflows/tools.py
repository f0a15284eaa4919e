"""Runs the tool calls of a reply in parallel. Arguments and results are references; a failure becomes a result too.

The price of a paid tool is held before it runs and settled after it, once, however often the tool is retried; a tool
that never ran costs nothing. Its hold waits, asks and is delayed like that of a model call, and a pause ends it.
Without a hold the tool does not run, and the model goes on.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from temporalio import workflow
from temporalio.exceptions import ActivityError, ApplicationError, TimeoutError, TimeoutType
from temporalio.workflow import ActivityConfig

from purser.workflows import options
from purser.workflows.contract import (
    ActivityName,
    SettleInput,
    SettleResult,
    ToolCall,
    ToolFailure,
    ToolHold,
    ToolResult,
)
from purser.workflows.gate import Gate
from purser.workflows.steps import cancellable, failure_type, release, run_activity, shielded, step

_EACH_ENDS = "each-tool-ends"
_PAUSE_BEFORE_TOOL = "pause-before-tool"
_FREE_IF_NEVER_RUN = "free-if-never-run"
MAX_TOOL_NANO_USD = 10**15
"""A higher cost is not believed: the call is charged its declared price."""


async def run_tools(calls: Sequence[ToolCall], gate: Gate, called: dict[str, bool]) -> None:
    """Runs the tool calls of one reply and waits for all of them.

    Args:
        calls: the calls.
        gate: holds the prices of paid ones.
        called: receives the keys for which it asks, each with whether the tool may have run then. If `run_tools` is
            cancelled, they may still be open, and the agent closes them.
    """
    running = [asyncio.create_task(_run_tool(call, gate, called)) for call in calls]
    try:
        await cancellable(asyncio.gather(*running))
    except (Exception, asyncio.CancelledError):
        # The first one to fail ends the wait, but others may have yet to settle their holds.
        if workflow.patched(_EACH_ENDS):
            await cancellable(asyncio.gather(*running, return_exceptions=True))
        raise


async def _run_tool(call: ToolCall, gate: Gate, called: dict[str, bool]) -> None:
    if not call.activity:
        await _failed(call, "unknown_tool")
    elif call.nano_usd:
        await _run_paid(call, gate, called)
    else:
        try:
            await _call(call)
        except ActivityError as error:
            await _failed(call, failure_type(error))


async def _run_paid(call: ToolCall, gate: Gate, called: dict[str, bool]) -> None:
    while True:
        called[call.key] = False
        held = await gate.hold_tool(call)
        if not held.hold_id:
            await _failed(call, "budget")
            return
        try:
            await gate.sleep_out(held.delay_ms)
        except asyncio.CancelledError:
            await shielded(_settle(call, held, 0))
            raise
        if not gate.paused_since(_PAUSE_BEFORE_TOOL):
            break
        await cancellable(_settle(call, held, 0))
        call = replace(call, ask=call.ask + 1)
    called[call.key] = True
    try:
        nano_usd = await _call(call)
    except ActivityError as error:
        called[call.key] = not (_never_ran(call, error) and workflow.patched(_FREE_IF_NEVER_RUN))
        await _failed(call, failure_type(error))
        if called[call.key]:
            # A call that failed may have cost something: it is charged its declared price.
            await cancellable(release(call.tenant, call.key))
            return
        nano_usd = 0
    await shielded(_settle(call, held, nano_usd))


async def _settle(call: ToolCall, held: ToolHold, nano_usd: int) -> None:
    cost = SettleInput(call.tenant, held.hold_id, attempt=1, nano_usd=nano_usd)
    await run_activity(ActivityName.SETTLE, cost, SettleResult, options.RECORD)


async def _call(call: ToolCall) -> int:
    """Returns what the call cost, in nano-dollars.

    Raises:
        ActivityError: the tool failed for good.
    """
    config = ActivityConfig(**options.TOOL, task_queue=call.task_queue or workflow.info().task_queue)
    # The tool stores its result in the conversation; the next admission answers a call that has none. Only the cost
    # that it reports matters here.
    result = await cancellable(workflow.execute_activity(call.activity, call, **config))
    reported = result.get("nano_usd") if isinstance(result, dict) else None
    return reported if type(reported) is int and 0 <= reported <= MAX_TOOL_NANO_USD else call.nano_usd


def _never_ran(call: ToolCall, error: ActivityError) -> bool:
    """Whether no code of the tool ran: no worker took the call, or the workers of its queue do not have the activity.

    Of several attempts only the last failure is known. If the time to start ran out, it was the first attempt: for a
    later one the time to close, which is as long and counts from the first, ends before. Temporal expects the same
    activities of all workers of a queue, so that the worker of the last attempt speaks for those before.
    """
    match error.cause:
        case TimeoutError(type=timeout):
            return timeout is TimeoutType.SCHEDULE_TO_START
        case ApplicationError(type="NotFoundError", message=message):
            # Tools have errors of this name, too.
            return message.startswith(f"Activity function {call.activity} ") and "is not registered on" in message
    return False


async def _failed(call: ToolCall, kind: str) -> None:
    await step(ActivityName.RECORD_TOOL_FAILURE, ToolFailure(call, kind), ToolResult, options.RECORD)
