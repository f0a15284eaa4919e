"""Queries for the pages of tasks: lists with filters, progress, cost and approvals."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from purser.budget.gate import Amount
from purser.budget.postgres.connections.pools import Pool, connected, fetch
from purser.budget.postgres.connections.queries import load
from purser.workflows.contract import TaskStatus

_SQL = load("purser.activities.postgres", "overviews.sql")
MOST_APPROVALS = 100


@dataclass(frozen=True, slots=True)
class TaskRow:
    """One task of a list."""

    number: int
    """Position in the order of submission; the next page continues from it."""
    task_id: str
    session_id: str
    submitter: str | None
    submitted_at: datetime
    ended_at: datetime | None
    state: TaskStatus
    agents: int
    agents_ended: int
    tokens: int
    """Tokens spent."""
    nano_usd: int
    """Nano-dollars spent."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What one agent of a task spent on one model."""

    agent_id: str
    """Empty: the task itself."""
    model: str
    """Empty: the caller named none."""
    holds: int
    tokens: int
    nano_usd: int


@dataclass(frozen=True, slots=True)
class TaskApproval:
    """An approval request for which agents of a task wait or waited."""

    approval_id: str
    state: str
    created_at: datetime
    decided_at: datetime | None
    scope: str
    asked: Amount
    granted: Amount


@dataclass(frozen=True, slots=True)
class PlannedAgent:
    """An agent as the task file declares it."""

    agent_id: str
    model: str
    depends_on: tuple[str, ...]


class Overviews:
    """Overviews of all tenants' tasks."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def page(
        self,
        tenant: str,
        *,
        state: TaskStatus | None = None,
        search: str = "",
        before: int | None = None,
        limit: int = 50,
    ) -> list[TaskRow]:
        """Returns tasks, newest first.

        Args:
            tenant: tenant of the tasks.
            state: only tasks in this state.
            search: only tasks with this text in the id of task or session or in the submitter's name.
            before: only tasks with a lower `TaskRow.number`.
            limit: most tasks to return.
        """
        asking = {TaskStatus.WAITING_APPROVAL: True, TaskStatus.RUNNING: False}.get(state) if state else None
        status = TaskStatus.RUNNING if state is TaskStatus.WAITING_APPROVAL else state
        text = search.strip().lower() or None
        rows = await fetch(self._pool, _SQL["list"], tenant, status, asking, before, text, limit)
        return [TaskRow(**{**row, "state": TaskStatus(row["state"])}) for row in rows]

    async def counts(self, tenant: str) -> Mapping[TaskStatus, int]:
        """Returns the number of tasks by state, without states that have none."""
        async with connected(self._pool, None) as own:
            found = {TaskStatus(row["status"]): row["tasks"] for row in await own.fetch(_SQL["counts"], tenant)}
            asking = await own.fetchval(_SQL["asking"], tenant)
        found[TaskStatus.WAITING_APPROVAL] = asking
        found[TaskStatus.RUNNING] = max(0, found.get(TaskStatus.RUNNING, 0) - asking)
        return {state: tasks for state, tasks in found.items() if tasks}

    async def costs(self, tenant: str, task_id: str) -> list[Cost]:
        """Returns what each agent of a task spent on each model."""
        return [Cost(**dict(row)) for row in await fetch(self._pool, _SQL["costs"], tenant, task_id)]

    async def approvals(self, tenant: str, task_id: str) -> list[TaskApproval]:
        """Returns the newest requests for which agents of a task wait or waited, up to `MOST_APPROVALS`."""
        rows = await fetch(self._pool, _SQL["approvals"], tenant, task_id, MOST_APPROVALS)
        return [
            TaskApproval(
                *(row[name] for name in ("approval_id", "state", "created_at", "decided_at", "scope")),
                *(Amount(row[f"{name}_tokens"], row[f"{name}_nano"]) for name in ("asked", "granted")),
            )
            for row in rows
        ]

    async def agents(self, tenant: str, task_id: str) -> dict[str, PlannedAgent]:
        """Returns the agents that the task file declares; none once the texts of its session are deleted."""
        rows = await fetch(self._pool, _SQL["agents"], tenant, task_id)
        return {row["agent_id"]: PlannedAgent(row["agent_id"], row["model"], tuple(row["depends_on"])) for row in rows}
