"""Whether the code of this version replays what runs, before it takes over."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from temporalio.client import Client, WorkflowHistory
from temporalio.worker import Replayer

from purser.compose.processes.worker import WORKFLOWS, sandbox


@dataclass(frozen=True, slots=True)
class Replayed:
    """What became of the histories that were replayed."""

    workflows: int
    """How many."""
    failed: dict[str, str] = field(default_factory=dict)
    """Workflow id and kind of error of those that this code tells differently."""

    @property
    def ok(self) -> bool:
        """Whether this code can take over."""
        return not self.failed


async def replay_running(client: Client, task_queue: str, most: int) -> Replayed:
    """Replays the histories of running workflows, newest first: what a worker of this code would meet.

    Args:
        client: of their namespace.
        task_queue: of their workers.
        most: how many at most.
    """
    replayer = Replayer(workflows=WORKFLOWS, workflow_runner=sandbox())
    workflows, failed = 0, {}
    async with replayer.workflow_replay_iterator(_running(client, task_queue, most)) as results:
        async for result in results:
            workflows += 1
            if result.replay_failure is not None:
                failed[result.history.workflow_id] = type(result.replay_failure).__name__
    return Replayed(workflows, failed)


async def _running(client: Client, task_queue: str, most: int) -> AsyncIterator[WorkflowHistory]:
    query = f"TaskQueue = '{task_queue}' AND ExecutionStatus = 'Running'"
    async for history in client.list_workflows(query, limit=most).map_histories():
        yield history
