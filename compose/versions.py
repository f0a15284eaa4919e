"""Replay check: whether the workflow code of this version replays the histories of running workflows."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from temporalio.client import Client, WorkflowHistory
from temporalio.worker import Replayer, UnsandboxedWorkflowRunner

from purser.compose.processes.worker import WORKFLOWS


@dataclass(frozen=True, slots=True)
class ReplayResult:
    """Result of replaying histories."""

    workflows: int
    """Number of replayed histories."""
    failed: dict[str, str] = field(default_factory=dict)
    """Type of the error by workflow id, for histories that did not replay."""

    @property
    def ok(self) -> bool:
        """Whether all histories replayed, so that this code can take over."""
        return not self.failed


async def replay_running(client: Client, task_queue: str, limit: int) -> ReplayResult:
    """Replay the histories of running workflows, newest first, as a worker of this code would.

    Args:
        client: client of their namespace.
        task_queue: task queue of their workers.
        limit: maximum number of workflows.
    """
    replayer = Replayer(workflows=WORKFLOWS, workflow_runner=UnsandboxedWorkflowRunner())
    workflows, failed = 0, {}
    async with replayer.workflow_replay_iterator(_running(client, task_queue, limit)) as results:
        async for result in results:
            workflows += 1
            if result.replay_failure is not None:
                failed[result.history.workflow_id] = type(result.replay_failure).__name__
    return ReplayResult(workflows, failed)


async def _running(client: Client, task_queue: str, limit: int) -> AsyncIterator[WorkflowHistory]:
    query = f"TaskQueue = '{task_queue}' AND ExecutionStatus = 'Running'"
    async for history in client.list_workflows(query, limit=limit).map_histories():
        yield history
