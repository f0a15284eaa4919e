"""Ends a task: its outcome is stored, and its last replies are published to the session."""

import re
from dataclasses import dataclass

from temporalio import activity

from purser.activities.postgres.agents import Agents, Given
from purser.budget.postgres.connections.pools import Pool, connected
from purser.budget.postgres.ledger.ledger import Ledger
from purser.context.conversation.messages import Message
from purser.context.postgres.conversation.conversations import Conversations
from purser.workflows.contract import ActivityName, TaskClosing


@dataclass(frozen=True)
class CloseTask:
    """Ends tasks."""

    pool: Pool
    ledger: Ledger
    agents: Agents
    conversations: Conversations

    @activity.defn(name=ActivityName.CLOSE_TASK)
    async def close_task(self, closing: TaskClosing) -> None:
        """Ends a task in one transaction; again changes nothing.

        The session goes on with the replies of the agents that no other agent depends on.
        """
        tenant, outcome = closing.tenant, closing.outcome
        given = await self.agents.given(tenant, outcome.task_id)
        session_id, replies = given.task.session_id, _last_replies(given)
        stored = await self.conversations.read(tenant, session_id, replies.values())
        published = [
            Message("assistant", stored[seq].message.text, name=_speaker(agent_id)) for agent_id, seq in replies.items()
        ]
        async with connected(self.pool, None) as own, own.transaction():
            if await self.agents.close_task(tenant, outcome.task_id, outcome.status, own):
                origin = f"task:{outcome.task_id}:replies"
                await self.conversations.append(tenant, session_id, published, origin=origin, connection=own)
                await self.ledger.end_scopes(tenant, given.task.own_scopes, own)


def _last_replies(given: Given) -> dict[str, int]:
    """Replies of the agents that nobody depends on, in the order of the task file."""
    needed = {other for agent in given.task.agents for other in agent.depends_on}
    return {
        agent.id: given.replies[agent.id]
        for agent in given.task.agents
        if agent.id not in needed and agent.id in given.replies
    }


def _speaker(agent_id: str) -> str:
    # Providers take fewer characters in a name than an id may have.
    return re.sub(r"[^A-Za-z0-9_-]", "_", agent_id)[:64]
