"""The activity `close_task`: stores a task's outcome and appends its last replies to the session."""

from dataclasses import dataclass

from temporalio import activity

from purser.activities.postgres.agents import Agents, TaskRecord
from purser.budget.postgres.connections.pools import Pool, connected
from purser.budget.postgres.ledger.ledger import Ledger
from purser.context.conversation.messages import Message, speaker_name
from purser.context.postgres.conversation.conversations import Conversations, origin_of_replies
from purser.workflows.contract import ActivityName, TaskClosing


@dataclass(frozen=True)
class CloseTask:
    """The activity `close_task`."""

    pool: Pool
    ledger: Ledger
    agents: Agents
    conversations: Conversations

    @activity.defn(name=ActivityName.CLOSE_TASK)
    async def close_task(self, closing: TaskClosing) -> None:
        """Ends a task in one transaction; repeating it changes nothing.

        The last replies are appended to the session: those that no other agent used for a reply of its own.
        """
        tenant, outcome = closing.tenant, closing.outcome
        record = await self.agents.task_record(tenant, outcome.task_id)
        session_id, replies = record.task.session_id, _last_replies(record)
        stored = await self.conversations.read(tenant, session_id, replies.values())
        published = [
            Message("assistant", stored[seq].message.text, name=speaker_name(agent_id))
            for agent_id, seq in replies.items()
        ]
        async with connected(self.pool, None) as own, own.transaction():
            if await self.agents.close_task(tenant, outcome.task_id, outcome.status, own, reason=outcome.reason):
                origin = origin_of_replies(outcome.task_id)
                await self.conversations.append(tenant, session_id, published, origin=origin, connection=own)
                await self.ledger.end_scopes(tenant, record.task.own_scopes, own)


def _last_replies(record: TaskRecord) -> dict[str, int]:
    """Replies of the agents on which no agent with a reply depends, in the order of the task file."""
    needed = {other for agent in record.task.agents if agent.id in record.replies for other in agent.depends_on}
    return {
        agent.id: record.replies[agent.id]
        for agent in record.task.agents
        if agent.id not in needed and agent.id in record.replies
    }
