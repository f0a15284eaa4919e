"""What workflows leave in Temporal."""

from dataclasses import dataclass

from temporalio.api.enums.v1 import EventType
from temporalio.client import Client, WorkflowExecutionDescription


@dataclass(frozen=True)
class History:
    """One workflow that has ended."""

    events: int
    size_bytes: int
    seconds: float
    """From its start to its end, by Temporal's clock."""


async def history_of(client: Client, workflow_id: str) -> History:
    """The history of a workflow that has ended."""
    found: WorkflowExecutionDescription = await client.get_workflow_handle(workflow_id).describe()
    assert found.close_time is not None
    info = found.raw_description.workflow_execution_info
    return History(info.history_length, info.history_size_bytes, (found.close_time - found.start_time).total_seconds())


@dataclass(frozen=True)
class Turn:
    """What a workflow did from its start until the last activity of a turn completed."""

    events: int
    """From the first workflow task to that activity."""
    size_bytes: int
    seconds: float
    """From the start of the workflow to the completion of that activity, by Temporal's clock."""


async def turn_of(client: Client, workflow_id: str, activities: int) -> Turn:
    """The turn with which a workflow begins, of so many regular activities."""
    events = list((await client.get_workflow_handle(workflow_id).fetch_history()).events)
    done = [at for at, one in enumerate(events) if one.event_type == EventType.EVENT_TYPE_ACTIVITY_TASK_COMPLETED]
    last = done[activities - 1]
    kinds = [one.event_type for one in events]
    turn = events[kinds.index(EventType.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED) : last + 1]
    seconds = (events[last].event_time.ToNanoseconds() - events[0].event_time.ToNanoseconds()) / 1e9
    return Turn(len(turn), sum(one.ByteSize() for one in turn), seconds)
