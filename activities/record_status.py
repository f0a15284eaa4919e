"""Records how a task or an agent stands, for its page."""

from dataclasses import dataclass

from temporalio import activity

from purser.activities.postgres.agents import Agents
from purser.workflows.contract import ActivityName, StatusUpdate


@dataclass(frozen=True)
class RecordStatus:
    """Records statuses."""

    agents: Agents

    @activity.defn(name=ActivityName.RECORD_STATUS)
    async def record_status(self, update: StatusUpdate) -> None:
        """Notes a status; one that comes after the end changes nothing."""
        await self.agents.record(update)
