"""Helpers for tool activities: they load the arguments of a call and store its result by reference.

A tool activity takes a `ToolCall` and returns a `ToolResult`, so that texts never pass through Temporal:

    @activity.defn(name="look_up")
    async def look_up(call: ToolCall) -> ToolResult:
        name, arguments = await tools.load_arguments(call)
        return await tools.store_result(call, find(**arguments))
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from purser.activities.errors import InvalidArguments
from purser.budget.postgres.connections.pools import Pool
from purser.context.conversation.messages import Message
from purser.context.conversation.storable import storable
from purser.context.errors import MessageNotFound, OriginReused
from purser.context.postgres.conversation.conversations import Conversations
from purser.workflows.contract import ToolCall, ToolResult

NO_RESULT = (
    "error: the tool ended without a result; a tool stores its result with `Tools.store_result`, or with "
    "PUT /v1/sessions/{session_id}/messages/{seq}/calls/{index}/result"
)
"""The result of a call whose tool returned and stored none."""
MAX_RESULT = 4 * 2**20
"""Most characters of a result: few windows show as many, and an admission has no time to plan with far longer texts."""


@dataclass(frozen=True, slots=True)
class Called:
    """A tool call of a stored reply."""

    call_id: str
    """The id that the model gave the call."""
    name: str
    arguments: dict[str, Any] | None
    """`None` if the model wrote something other than a JSON object."""
    thread: str
    """The conversation of the agent that called."""


class Tools:
    """Tool calls and their results in the conversation of the calling agent."""

    def __init__(self, pool: Pool) -> None:
        """Args:
        pool: connects to the database that holds the conversations.
        """
        self._conversations = Conversations(pool)

    async def called(self, call: ToolCall) -> Called:
        """Reads a tool call; its texts contain no NUL and no lone surrogate.

        Raises:
            MessageNotFound: the session has no such message, or the message no such call.
        """
        stored = (await self._conversations.read(call.tenant, call.session_id, [call.seq]))[call.seq]
        calls = stored.message.tool_calls
        if call.index >= len(calls):
            raise MessageNotFound(f"message {call.seq} has {len(calls)} tool calls, and none at index {call.index}")
        function = calls[call.index]["function"]
        return Called(calls[call.index]["id"], function["name"], arguments_of(function), stored.thread)

    async def load_arguments(self, call: ToolCall) -> tuple[str, dict[str, Any]]:
        """Returns the name and the arguments of a call.

        Raises:
            InvalidArguments: the model wrote something other than a JSON object.
            MessageNotFound: the session has no such message, or the message no such call.
        """
        called = await self.called(call)
        if called.arguments is None:
            raise InvalidArguments(f"the arguments of call {call.index} of message {call.seq} are not a JSON object")
        return called.name, called.arguments

    async def store_result(self, call: ToolCall, text: str) -> ToolResult:
        """Stores the result of a tool call; if a call has several results, the first remains.

        One above `MAX_RESULT` is replaced by a message that says so: an error would run the tool again.
        """
        if len(text) > MAX_RESULT:
            text = f"error: the result has {len(text):,} characters, and at most {MAX_RESULT:,} are kept; ask for less"
        called = await self.called(call)
        message, thread = Message("tool", text, tool_call_id=called.call_id), called.thread
        origin = f"tool:{thread}:{call.seq}:{call.index}"
        try:
            [seq] = await self._conversations.append(
                call.tenant, call.session_id, [message], origin=origin, thread=thread
            )
        except OriginReused:
            later = await self._conversations.read_thread(call.tenant, call.session_id, thread, first=call.seq + 1)
            seq = next(one.seq for one in later if one.message.tool_call_id == called.call_id)
        return ToolResult(seq)


def arguments_of(function: Mapping[str, Any]) -> dict[str, Any] | None:
    """Returns the arguments of a called function; `None` if the model wrote something other than a JSON object."""
    try:
        arguments = storable(json.loads(function["arguments"] or "{}"))
    except (ValueError, RecursionError):
        return None
    return arguments if isinstance(arguments, dict) else None
