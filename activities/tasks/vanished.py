"""Ends tasks whose workflow is gone without having closed them: terminated, timed out, or lost by Temporal."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from temporalio.api.errordetails.v1 import NamespaceNotFoundFailure
from temporalio.client import Client, WorkflowExecutionStatus
from temporalio.service import RPCError, RPCStatusCode

from purser.activities.postgres.agents import Agents
from purser.activities.runtime.rpc import RPC_TIMEOUT
from purser.activities.tasks import leftovers
from purser.budget.postgres.approvals.approvals import Approvals
from purser.budget.postgres.connections.pools import Pool, connected
from purser.budget.postgres.events.outbox import Outbox
from purser.budget.postgres.ledger.ledger import Ledger
from purser.workflows.contract import TaskRef, TaskStatus

CHECK_EVERY = timedelta(seconds=60)
"""Pause between two checks of whether the workflow of a running task exists."""
LOST_FOR = timedelta(hours=24)
"""Time for which a workflow unknown to Temporal may still return, for example after a restore."""
BATCH = 20
_LOST = TaskStatus.FAILED, "workflow_lost"
_ENDINGS: Mapping[WorkflowExecutionStatus, tuple[TaskStatus, str]] = {
    WorkflowExecutionStatus.TERMINATED: (TaskStatus.CANCELLED, "workflow_terminated"),
    WorkflowExecutionStatus.CANCELED: (TaskStatus.CANCELLED, "workflow_cancelled"),
    WorkflowExecutionStatus.TIMED_OUT: (TaskStatus.FAILED, "workflow_timed_out"),
    WorkflowExecutionStatus.FAILED: (TaskStatus.FAILED, "workflow_failed"),
    WorkflowExecutionStatus.COMPLETED: (TaskStatus.FAILED, "workflow_completed"),
}


@dataclass(frozen=True)
class Vanished:
    """Ends tasks whose workflow is gone. Any number of processes may do so."""

    client: Client
    pool: Pool
    agents: Agents
    ledger: Ledger
    approvals: Approvals

    async def sweep(self) -> int:
        """Checks the tasks that are due and ends those whose workflow is gone; returns how many it ended.

        Raises:
            RPCError: Temporal does not answer, so nothing is known about any task.
        """
        due = await self.agents.unchecked(CHECK_EVERY, BATCH)
        return sum([await self.ended(ref) for ref in due])

    async def ended(self, ref: TaskRef, lost_for: timedelta = LOST_FOR) -> bool:
        """Ends one task if its workflow is closed or has been unknown for `lost_for`; returns whether it did.

        Raises:
            RPCError: Temporal does not answer.
        """
        ending = await self._ending(ref, lost_for)
        if ending is None:
            return False
        status, reason = ending
        await leftovers.clear(self.ledger, self.approvals, ref.tenant, ref.task_id)
        record = await self.agents.task_record(ref.tenant, ref.task_id)
        async with connected(self.pool, None) as own, own.transaction():
            await self.ledger.end_scopes(ref.tenant, record.task.own_scopes, own)
            return await self.agents.close_task(ref.tenant, ref.task_id, status, own, reason=reason)

    async def _ending(self, ref: TaskRef, lost_for: timedelta) -> tuple[TaskStatus, str] | None:
        # Read before Temporal is asked: a start that is sent in between leaves the outbox, but the task is not lost.
        about_to_start = await Outbox(self.pool).holds(ref.tenant, ref.workflow_id)
        try:
            found = await self.client.get_workflow_handle(ref.workflow_id).describe(rpc_timeout=RPC_TIMEOUT)
        except RPCError as error:
            if not is_gone(error):
                raise
            if about_to_start:
                return None
            return _LOST if await self.agents.lost(ref) >= lost_for else None
        await self.agents.found(ref)
        return None if found.status is None else _ENDINGS.get(found.status)


def is_gone(error: RPCError) -> bool:
    """Whether a workflow does not exist. A server that lacks the namespace answers with the same status code."""
    if error.status is not RPCStatusCode.NOT_FOUND:
        return False
    return not any(detail.Is(NamespaceNotFoundFailure.DESCRIPTOR) for detail in error.grpc_status.details)
