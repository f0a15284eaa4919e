"""The activity `record_status`."""

from typing import Any

import pytest

from purser.activities.record_status import RecordStatus
from purser.budget.errors import InvalidRequest
from purser.workflows.contract import AgentStatus, StatusUpdate, TaskStatus


class Agents:
    """Keeps what is recorded."""

    def __init__(self) -> None:
        self.recorded: list[StatusUpdate] = []

    async def record(self, update: StatusUpdate) -> None:
        """Keeps one."""
        self.recorded.append(update)


@pytest.mark.parametrize(
    ("agent_id", "statuses", "unknown"), [("", TaskStatus, "resting"), ("a1", AgentStatus, "partial")]
)
async def test_a_status_that_does_not_exist_is_refused(agent_id: str, statuses: Any, unknown: str) -> None:
    agents: Any = Agents()
    updates = [StatusUpdate("acme", "t1", status, agent_id) for status in statuses]
    for update in updates:
        await RecordStatus(agents).record_status(update)
    with pytest.raises(InvalidRequest, match=f"status '{unknown}' is not known: use one of .*completed"):
        await RecordStatus(agents).record_status(StatusUpdate("acme", "t1", unknown, agent_id))
    assert agents.recorded == updates
