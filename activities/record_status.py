"""The activity `record_status`: stores the status of a task or an agent for its page."""

from dataclasses import dataclass

from temporalio import activity

from purser.activities.postgres.agents import Agents
from purser.budget.errors import InvalidRequest
from purser.workflows.contract import ActivityName, AgentStatus, StatusUpdate, TaskStatus


@dataclass(frozen=True)
class RecordStatus:
    """The activity `record_status`."""

    agents: Agents

    @activity.defn(name=ActivityName.RECORD_STATUS)
    async def record_status(self, update: StatusUpdate) -> None:
        """Stores a status; one that arrives after the end changes nothing.

        Raises:
            InvalidRequest: there is no such status.
        """
        known = tuple(AgentStatus if update.agent_id else TaskStatus)
        if update.status not in known:
            raise InvalidRequest(f"status {update.status[:40]!r} is not known: use one of {', '.join(known)}")
        await self.agents.record(update)
