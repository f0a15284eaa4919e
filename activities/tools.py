"""For activities that are tools: the arguments of a call are loaded and its result is stored by reference.

A tool activity takes a `ToolCall` and returns a `ToolResult`; texts never pass through Temporal:

    @activity.defn(name="look_up")
    async def look_up(call: ToolCall) -> ToolResult:
        name, arguments = await tools.load_arguments(call)
        return await tools.store_result(call, find(**arguments))
"""

import json
from typing import Any

from purser.activities.errors import InvalidArguments
from purser.budget.postgres.connections.pools import Pool
from purser.context.conversation.messages import Message
from purser.context.conversation.storable import storable
from purser.context.errors import OriginReused
from purser.context.postgres.conversation.conversations import Conversations
from purser.workflows.contract import ToolCall, ToolResult


class Tools:
    """Tool calls and their results, in the conversation of the agent that calls."""

    def __init__(self, pool: Pool) -> None:
        """Args:
        pool: of the database that holds the conversations.
        """
        self._conversations = Conversations(pool)

    async def load_arguments(self, call: ToolCall) -> tuple[str, dict[str, Any]]:
        """Name and arguments of a call, in text that any store takes.

        Raises:
            InvalidArguments: the model wrote something else than a JSON object.
            MessageNotFound
        """
        function = (await self._called(call))["function"]
        try:
            arguments = storable(json.loads(function["arguments"] or "{}"))
        except (ValueError, RecursionError):
            arguments = None
        if not isinstance(arguments, dict):
            raise InvalidArguments(f"call {call.index} of message {call.seq} has arguments that are no JSON object")
        return function["name"], arguments

    async def call_id(self, call: ToolCall) -> str:
        """The id that the model gave a call."""
        return str((await self._called(call))["id"])

    async def store_result(self, call: ToolCall, text: str) -> ToolResult:
        """Stores what a tool returned; of several results of one call the first stays."""
        call_id = await self.call_id(call)
        message, thread = Message("tool", text, tool_call_id=call_id), f"{call.task_id}/{call.agent_id}"
        origin = f"tool:{thread}:{call.seq}:{call.index}"
        try:
            [seq] = await self._conversations.append(
                call.tenant, call.session_id, [message], origin=origin, thread=thread
            )
        except OriginReused:
            later = await self._conversations.read_thread(call.tenant, call.session_id, thread, first=call.seq + 1)
            seq = next(one.seq for one in later if one.message.tool_call_id == call_id)
        return ToolResult(seq)

    async def _called(self, call: ToolCall) -> Any:
        stored = await self._conversations.read(call.tenant, call.session_id, [call.seq])
        return stored[call.seq].message.tool_calls[call.index]
