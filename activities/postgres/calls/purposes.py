"""The purpose of a call of a model or a tool, in the words of its task, for the approvers who decide about it."""

from collections.abc import Sequence
from dataclasses import dataclass

import asyncpg

from purser.activities.tasks.file import DEFAULT_MAX_TURNS
from purser.budget.approvals import Waiter
from purser.budget.gate import Amount
from purser.budget.postgres.connections.pools import Pool, fetch
from purser.budget.postgres.connections.queries import load
from purser.budget.reports.finish import AgentProgress
from purser.context.conversation.messages import Message
from purser.context.errors import MessageNotFound
from purser.context.postgres.conversation.conversations import Conversations
from purser.context.windows.plans import WindowPlan
from purser.workflows.contract import ToolCall

_SQL = load("purser.activities.postgres.calls", "purposes.sql")
MOST = 500
"""Most characters of each text."""


@dataclass(frozen=True, slots=True)
class LastInput:
    """The newest message that a call shows its model."""

    seq: int
    role: str
    text: str
    """The beginning of the text."""


@dataclass(frozen=True, slots=True)
class ToolUse:
    """The tool that a call runs."""

    name: str
    arguments: str
    """The beginning of what the model wrote."""


@dataclass(frozen=True, slots=True)
class Purpose:
    """The purpose of a call. Its texts come from the task file and the conversation, cut to `MOST` characters."""

    session_id: str
    input: str
    """Input of the task; empty once its session is deleted, like the other texts."""
    instructions: str
    """Instructions of the agent."""
    last: LastInput | None
    """`None`: nothing newer than the task's input was shown to the model."""
    tool: ToolUse | None
    """`None` for a call of a model."""


class Purposes:
    """Purposes of all tenants' calls. They contain conversation text, so the caller checks the reader's permission."""

    def __init__(self, pool: Pool, conversations: Conversations) -> None:
        self._pool = pool
        self._conversations = conversations

    async def of(self, tenant: str, waiters: Sequence[Waiter]) -> dict[str, Purpose]:
        """Returns the purposes of calls by the key of their hold. A hold over HTTP belongs to no call and has none."""
        places = {waiter.key: ToolCall.place(waiter.key) for waiter in waiters if waiter.task_id}
        if not places:
            return {}
        asked = [
            (one.key, one.task_id, one.agent_id, (places[one.key] or (None,))[0]) for one in waiters if one.task_id
        ]
        columns = [list(column) for column in zip(*asked, strict=True)]
        rows = await fetch(self._pool, _SQL["of"], tenant, *columns, MOST)
        return {row["key"]: await self._purpose(tenant, row, places[row["key"]]) for row in rows}

    async def least(self, tenant: str, waiters: Sequence[Waiter]) -> dict[str, Amount]:
        """Returns the smallest holds that calls of models accept, by key; all other calls need what they ask for."""
        rows = await fetch(self._pool, _SQL["least"], tenant, [waiter.key for waiter in waiters])
        return {row["key"]: Amount(row["least_tokens"], row["least_nano"]) for row in rows}

    async def progress(self, tenant: str, task_ids: Sequence[str]) -> list[AgentProgress]:
        """Returns the turns of all agents of some tasks."""
        rows = await fetch(self._pool, _SQL["progress"], tenant, list(task_ids), DEFAULT_MAX_TURNS)
        return [
            AgentProgress(
                row["ended"],
                row["turns_left"],
                tuple(Amount(*charged) for charged in zip(row["tokens"], row["nano"], strict=True)),
            )
            for row in rows
        ]

    async def _purpose(self, tenant: str, row: asyncpg.Record, place: tuple[int, int] | None) -> Purpose:
        return Purpose(
            session_id=row["session_id"],
            input=row["input"] or "",
            instructions=row["instructions"] or "",
            last=await self._last(tenant, row["session_id"], WindowPlan.from_json(row["plan"])),
            tool=await self._tool(tenant, row["session_id"], *place) if place else None,
        )

    async def _last(self, tenant: str, session_id: str, plan: WindowPlan) -> LastInput | None:
        seq = max(plan.seqs)
        if seq == plan.question.seq:
            return None
        message = await self._message(tenant, session_id, seq)
        return LastInput(seq, str(message.role), message.text[:MOST]) if message else None

    async def _tool(self, tenant: str, session_id: str, seq: int, index: int) -> ToolUse | None:
        message = await self._message(tenant, session_id, seq)
        if message is None:
            return None
        function = message.tool_calls[index]["function"]
        return ToolUse(function["name"], function["arguments"][:MOST])

    async def _message(self, tenant: str, session_id: str, seq: int) -> Message | None:
        """A message of a session; `None` once it is deleted."""
        try:
            return (await self._conversations.read(tenant, session_id, [seq]))[seq].message
        except MessageNotFound:
            return None
