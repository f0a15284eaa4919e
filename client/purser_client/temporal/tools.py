"""The activity of a tool: arguments and results are stored by the gateway, and Temporal sees only references."""

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from temporalio import activity
from temporalio.exceptions import ApplicationError

from purser_client.client import AsyncPurser
from purser_client.contract import ToolCall, ToolResult
from purser_client.paths import budget_path


@dataclass(frozen=True, slots=True)
class ToolReply:
    """What a paid tool returns."""

    text: str
    """The model reads it."""
    nano_usd: int | None = None
    """What the call cost, in nano-dollars; `None`: the price that the task declares."""


Tool: TypeAlias = Callable[..., Awaitable[str | ToolReply]]
"""Takes the arguments that the model gives, by name, and returns what the model reads."""


def tool(purser: AsyncPurser, function: Tool, *, name: str) -> Callable[[ToolCall], Awaitable[ToolResult]]:
    """Makes the activity of a tool, for `Worker(activities=[...])`.

    Calls that adapters make in the function are on the budget of the agent that calls the tool.

    Args:
        purser: The client of the gateway, open as long as the worker runs. Its key is of the tenant of the tasks.
        function: Does the work. It may run again if its worker dies; the first result remains.
        name: The type of the activity, as `activity` of the tool in the task file.

    Raises:
        TypeError: The function is not async.
    """
    # A plain function would block the event loop of the worker; an object may be async by its `__call__`.
    if not any(map(inspect.iscoroutinefunction, (function, type(function).__call__))):
        raise TypeError(f"the function of tool {name!r} must be async: declare it with `async def`")
    signature = inspect.signature(function)

    @activity.defn(name=name)
    async def run(call: ToolCall) -> ToolResult:
        address = (call.session_id, call.seq, call.index)
        called = await purser.sessions.tool_call(*address)
        try:
            given = signature.bind(**_object(called.arguments))
        except TypeError as error:
            raise ApplicationError(str(error), type="InvalidArguments", non_retryable=True) from None
        agent = (f"session:{call.session_id}", f"task:{call.task_id}", f"agent:{call.task_id}/{call.agent_id}")
        with budget_path(*agent):
            reply = await function(*given.args, **given.kwargs)
        made = reply if isinstance(reply, ToolReply) else ToolReply(reply)
        stored = await purser.sessions.answer_tool_call(*address, made.text)
        return ToolResult(stored.seq, made.nano_usd)

    return run


def _object(arguments: dict[str, Any] | None) -> dict[str, Any]:
    if arguments is None:
        raise TypeError("the arguments are not a JSON object")
    return arguments
