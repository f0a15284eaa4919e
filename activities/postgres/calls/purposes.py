"""The purpose of a model call, in the words of its task, for the approvers who decide about it."""

from collections.abc import Sequence
from dataclasses import dataclass

import asyncpg

from purser.activities.tasks.file import DEFAULT_MAX_TURNS
from purser.budget.gate import Amount
from purser.budget.postgres.connections.pools import Pool, connected
from purser.budget.postgres.connections.queries import load
from purser.budget.reports.finish import AgentProgress
from purser.context.errors import MessageNotFound
from purser.context.postgres.conversation.conversations import Conversations
from purser.context.windows.plans import WindowPlan

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
class Purpose:
    """The purpose of a call. Its texts come from the task file and the conversation, cut to `MOST` characters."""

    session_id: str
    input: str
    """Input of the task; empty once its session is deleted, like the other texts."""
    instructions: str
    """Instructions of the agent."""
    last: LastInput | None
    """`None`: the call shows nothing newer than the task's input."""
    least: Amount
    """The smallest hold that the call accepts."""


class Purposes:
    """Purposes of all tenants' calls. They contain conversation text, so the caller checks the reader's permission."""

    def __init__(self, pool: Pool, conversations: Conversations) -> None:
        self._pool = pool
        self._conversations = conversations

    async def of(self, tenant: str, keys: Sequence[str]) -> dict[str, Purpose]:
        """Returns the purposes of calls by the key of their hold. A hold over HTTP belongs to no call and has none."""
        async with connected(self._pool, None) as own:
            rows = await own.fetch(_SQL["of"], tenant, list(keys), MOST)
        return {row["key"]: await self._purpose(tenant, row) for row in rows}

    async def progress(self, tenant: str, task_ids: Sequence[str]) -> list[AgentProgress]:
        """Returns the turns of all agents of some tasks."""
        async with connected(self._pool, None) as own:
            rows = await own.fetch(_SQL["progress"], tenant, list(task_ids), DEFAULT_MAX_TURNS)
        return [
            AgentProgress(
                row["ended"],
                row["turns_left"],
                tuple(Amount(*charged) for charged in zip(row["tokens"], row["nano"], strict=True)),
            )
            for row in rows
        ]

    async def _purpose(self, tenant: str, row: asyncpg.Record) -> Purpose:
        return Purpose(
            session_id=row["session_id"],
            input=row["input"] or "",
            instructions=row["instructions"] or "",
            last=await self._last(tenant, row["session_id"], WindowPlan.from_json(row["plan"])),
            least=Amount(row["least_tokens"], row["least_nano"]),
        )

    async def _last(self, tenant: str, session_id: str, plan: WindowPlan) -> LastInput | None:
        seq = max(plan.seqs)
        if seq == plan.question.seq:
            return None
        try:
            message = (await self._conversations.read(tenant, session_id, [seq]))[seq].message
        except MessageNotFound:
            return None
        return LastInput(seq, str(message.role), message.text[:MOST])
