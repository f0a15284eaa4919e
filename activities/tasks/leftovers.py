"""What a workflow leaves behind that ended without closing: open holds, and approval requests that no one awaits."""

from purser.budget.postgres.approvals.approvals import Approvals
from purser.budget.postgres.ledger.holds import Holds
from purser.budget.postgres.ledger.ledger import Ledger


async def clear(ledger: Ledger, approvals: Approvals, tenant: str, task_id: str, agent_id: str | None = None) -> None:
    """Releases the open holds of a task, or of one of its agents, and withdraws its approval requests."""
    for hold_id in await Holds(ledger.pool).open_of_task(tenant, task_id, agent_id):
        await ledger.release(tenant, hold_id=hold_id)
    for key in await approvals.waiting_of_task(tenant, task_id, agent_id):
        await approvals.withdraw(tenant, key)
