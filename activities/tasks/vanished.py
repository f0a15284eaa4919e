"""Tasks whose workflow is gone without having ended them: terminated, timed out, or lost with Temporal's database."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from temporalio.api.errordetails.v1 import NamespaceNotFoundFailure
from temporalio.client import Client, WorkflowExecutionStatus
from temporalio.service import RPCError, RPCStatusCode

from purser.activities.postgres.agents import Agents
from purser.budget.postgres.approvals.approvals import Approvals
from purser.budget.postgres.connections.pools import Pool, connected
from purser.budget.postgres.events.outbox import Outbox
from purser.budget.postgres.ledger.holds import Holds
from purser.budget.postgres.ledger.ledger import Ledger
from purser.workflows.contract import TaskRef, TaskStatus

CHECK_EVERY = timedelta(seconds=60)
"""How long a task that has not ended is left alone before somebody asks Temporal for it again."""
LOST_FOR = timedelta(hours=24)
"""How long a workflow that Temporal does not know may still be started again, as after a restore."""
BATCH = 20
_RPC_TIMEOUT = timedelta(seconds=5)
_LOST = TaskStatus.FAILED, "workflow_lost"
_FATES: Mapping[WorkflowExecutionStatus, tuple[TaskStatus, str]] = {
    WorkflowExecutionStatus.TERMINATED: (TaskStatus.CANCELLED, "workflow_terminated"),
    WorkflowExecutionStatus.CANCELED: (TaskStatus.CANCELLED, "workflow_cancelled"),
    WorkflowExecutionStatus.TIMED_OUT: (TaskStatus.FAILED, "workflow_timed_out"),
    WorkflowExecutionStatus.FAILED: (TaskStatus.FAILED, "workflow_failed"),
    WorkflowExecutionStatus.COMPLETED: (TaskStatus.FAILED, "workflow_completed"),
}


@dataclass(frozen=True)
class Vanished:
    """Ends such tasks. Any number of processes may do it."""

    client: Client
    pool: Pool
    agents: Agents
    ledger: Ledger
    approvals: Approvals

    async def sweep(self) -> int:
        """Ends tasks that nobody has looked at for a while and whose workflow is gone; returns how many.

        Raises:
            RPCError: Temporal does not answer, which says nothing about any task.
        """
        due = await self.agents.unchecked(CHECK_EVERY, BATCH)
        return sum([await self.ended(ref) for ref in due])

    async def ended(self, ref: TaskRef, lost_for: timedelta = LOST_FOR) -> bool:
        """Ends one task if its workflow was closed, or has been unknown for `lost_for`; whether it did.

        Raises:
            RPCError: Temporal does not answer.
        """
        fate = await self._fate(ref, lost_for)
        if fate is None:
            return False
        status, reason = fate
        for hold_id in await Holds(self.pool).open_of_task(ref.tenant, ref.task_id):
            await self.ledger.release(ref.tenant, hold_id=hold_id)
        for key in await self.approvals.waiting_of_task(ref.tenant, ref.task_id):
            await self.approvals.withdraw(ref.tenant, key)
        given = await self.agents.given(ref.tenant, ref.task_id)
        async with connected(self.pool, None) as own, own.transaction():
            await self.ledger.end_scopes(ref.tenant, given.task.own_scopes, own)
            return await self.agents.close_task(ref.tenant, ref.task_id, status, own, reason=reason)

    async def _fate(self, ref: TaskRef, lost_for: timedelta) -> tuple[TaskStatus, str] | None:
        # Asked before Temporal is: an order to start that goes out meanwhile leaves no trace here, and is no loss.
        about_to_start = await Outbox(self.pool).holds(ref.workflow_id)
        try:
            found = await self.client.get_workflow_handle(ref.workflow_id).describe(rpc_timeout=_RPC_TIMEOUT)
        except RPCError as error:
            if not is_gone(error):
                raise
            if about_to_start:
                return None
            return _LOST if await self.agents.lost(ref) >= lost_for else None
        await self.agents.found(ref)
        return None if found.status is None else _FATES.get(found.status)


def is_gone(error: RPCError) -> bool:
    """Whether a workflow is not there. A server without our namespace answers with the same status."""
    if error.status is not RPCStatusCode.NOT_FOUND:
        return False
    return not any(detail.Is(NamespaceNotFoundFailure.DESCRIPTOR) for detail in error.grpc_status.details)
