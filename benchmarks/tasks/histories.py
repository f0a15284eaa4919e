"""What workflows leave in Temporal."""

from dataclasses import dataclass

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
