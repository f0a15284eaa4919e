"""The activity `recall_message`: the tool by which a model reads what its window shows in part or not at all.

It reads only what the agent's windows may show: the session up to the task's input, the agent's own thread and the
replies of agents that it depends on. Its result is stored like that of any tool, and the call that reads it is held and
charged.
"""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from temporalio import activity

from purser.activities.calls.window_extras import counter_of
from purser.activities.errors import InvalidArguments
from purser.activities.tasks.agent_context import AgentContext, AgentContexts
from purser.activities.tools import Tools
from purser.context.compression.requests import CountText
from purser.context.conversation.messages import Message, StoredMessage
from purser.context.errors import MessageNotFound
from purser.context.postgres.conversation.conversations import Conversations
from purser.context.windows.clipping import beginning
from purser.workflows.contract import ActivityName, AgentRef, ToolCall, ToolResult

_LENGTH = 4_000
"""Characters that are returned if the call names no number."""
_PARTS = 4
"""The result takes at most this part of the context budget."""


@dataclass(frozen=True)
class RecallMessage:
    """The activity `recall_message`."""

    tools: Tools
    agent_contexts: AgentContexts
    conversations: Conversations

    @activity.defn(name=ActivityName.RECALL_MESSAGE)
    async def recall_message(self, call: ToolCall) -> ToolResult:
        """Stores a part of a message, or an error that the model can correct, as the result of the call."""
        return await self.tools.store_result(call, await self._result(call))

    async def _result(self, call: ToolCall) -> str:
        agent_context = await self.agent_contexts.of(AgentRef(call.tenant, call.task_id, call.agent_id))
        try:
            _, arguments = await self.tools.load_arguments(call)
            seq = _number(arguments, "message", 0)
            offset, length = _number(arguments, "offset", 0), _number(arguments, "length", _LENGTH)
            found = (await self.conversations.read(call.tenant, call.session_id, [seq]))[seq]
        except (InvalidArguments, MessageNotFound) as error:
            return f"error: {error}"
        if not _may_read(agent_context, found):
            return f"error: message {seq} is not part of this conversation"
        return await asyncio.to_thread(
            _part, found, offset, length, agent_context.window_tokens // _PARTS, counter_of(agent_context)
        )


def _number(arguments: Mapping[str, Any], name: str, default: int) -> int:
    value = arguments.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**53:
        raise InvalidArguments(f"{name} must be a whole number, 0 or more")
    return value


def _may_read(agent_context: AgentContext, found: StoredMessage) -> bool:
    if found.thread == "":
        return found.seq <= agent_context.question.seq
    return found.thread == agent_context.thread or found.seq in {reply.seq for reply in agent_context.replies}


def _part(found: StoredMessage, offset: int, length: int, most_tokens: int, count: CountText) -> str:
    """Part of a message under a line that states which."""
    text = _text(found.message)
    whole = text[offset : offset + length]
    shown = beginning(whole, most_tokens, count)
    end = offset + len(shown.removesuffix("…") if shown != whole else shown)
    header = f"message {found.seq}, {found.message.role}: characters {offset} to {end} of {len(text)}"
    more = f"; {len(text) - end} follow from offset {end}" if end < len(text) else ""
    return f"[{header}{more}]\n{text[offset:end]}"


def _text(message: Message) -> str:
    calls = [json.dumps(call["function"], ensure_ascii=False) for call in message.tool_calls]
    return "\n".join([*([message.text] if message.text else []), *calls])
