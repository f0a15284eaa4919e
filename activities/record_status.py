"""The activity `record_status`: stores the status of a task or an agent for its page."""

from dataclasses import dataclass

from temporalio import activity

from purser.activities.postgres.agents import Agents
from purser.workflows.contract import ActivityName, StatusUpdate


@dataclass(frozen=True)
class RecordStatus:
    """The activity `record_status`."""

    agents: Agents

    @activity.defn(name=ActivityName.RECORD_STATUS)
    async def record_status(self, update: StatusUpdate) -> None:
        """Stores a status; one that arrives after the end changes nothing."""
        await self.agents.record(update)
