"""The store of the agents of tasks: their inputs, statuses and outcomes."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from purser.activities.errors import TaskNotFound
from purser.activities.tasks.file import TaskFile
from purser.budget.postgres.connections.pools import Connection, Pool, connected, execute, fetch, fetchrow, fetchval
from purser.budget.postgres.connections.queries import load
from purser.context.errors import WindowTooSmall
from purser.workflows.contract import (
    AgentOutcome,
    AgentRef,
    AgentStatus,
    StatusUpdate,
    TaskOutcome,
    TaskRef,
    TaskStatus,
)

_SQL = load("purser.activities.postgres", "agents.sql")


@dataclass(frozen=True)
class TaskRecord:
    """A stored task with the replies of its agents so far."""

    task: TaskFile
    submitter: str | None
    """Submitter that the task names."""
    submitted_by: str | None
    """Name of the key that submitted it."""
    vouched: bool
    """Whether that key may act for others."""
    tags: Mapping[str, str]
    """Tags of all its calls, value by name."""
    user_id: str | None
    """User on whose budget the task draws."""
    input_seq: int
    """Sequence number of the task's input in the session."""
    replies: Mapping[str, int]
    """Sequence numbers of the replies so far, by agent."""


class Agents:
    """Agents of all tenants."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def task_record(self, tenant: str, task_id: str) -> TaskRecord:
        """Returns the task and the replies of the agents that have completed; raises `TaskNotFound`."""
        found = await fetchrow(self._pool, _SQL["task_record"], tenant, task_id)
        if found is None:
            raise TaskNotFound.of(task_id)
        task = TaskFile.stored(found["body"])
        return TaskRecord(
            task,
            found["submitter"],
            found["submitted_by"],
            found["vouched"],
            found["tags"],
            found["user_id"],
            found["input_seq"],
            found["replies"],
        )

    async def outcome(self, ref: TaskRef) -> TaskOutcome | None:
        """Returns how a task ended; `None`: it has not, or the tenant has no such task."""
        rows = await fetch(self._pool, _SQL["outcome"], ref.tenant, ref.task_id)
        if not rows:
            return None
        agents = tuple(
            AgentOutcome(
                row["agent_id"], AgentStatus(row["agent_status"]), row["turns"], row["agent_reason"], row["scope"]
            )
            for row in rows
        )
        return TaskOutcome(ref.task_id, TaskStatus(rows[0]["status"]), agents, rows[0]["reason"])

    async def fell_short(self, agent: AgentRef, error: WindowTooSmall) -> None:
        """Stores the figures of a window that is too small for what must be in it."""
        await execute(self._pool, _SQL["fell_short"], agent.tenant, agent.task_id, agent.agent_id, error.to_json())

    async def record(self, update: StatusUpdate) -> None:
        """Stores the status of a task or an agent, unless it has ended."""
        async with connected(self._pool, None) as own:
            if update.agent_id:
                await own.execute(_SQL["record_agent"], update.tenant, update.task_id, update.agent_id, update.status)
            else:
                await own.execute(_SQL["record_task"], update.tenant, update.task_id, update.status)

    async def close(self, agent: AgentRef, outcome: AgentOutcome) -> None:
        """Stores the outcome of an agent; the first outcome remains."""
        await execute(
            self._pool,
            _SQL["close_agent"],
            agent.tenant,
            agent.task_id,
            agent.agent_id,
            outcome.status,
            outcome.reason,
            outcome.scope,
        )

    async def unchecked(self, since: timedelta, limit: int) -> list[TaskRef]:
        """Returns running tasks whose workflow has not been checked during `since`, and marks them as checked now."""
        return [TaskRef(**row) for row in await fetch(self._pool, _SQL["unchecked"], since, limit)]

    async def lost(self, ref: TaskRef) -> timedelta:
        """Records that Temporal does not know the task's workflow; returns for how long it has not."""
        return await fetchval(self._pool, _SQL["lost"], ref.tenant, ref.task_id) or timedelta()

    async def found(self, ref: TaskRef) -> None:
        """Records that Temporal knows the task's workflow."""
        await execute(self._pool, _SQL["found"], ref.tenant, ref.task_id)

    async def close_task(
        self, tenant: str, task_id: str, status: TaskStatus, connection: Connection, *, reason: str = ""
    ) -> bool:
        """Ends a task and all its agents, with the reason if there is one; `False`: it had already ended."""
        return await connection.fetchval(_SQL["close_task"], tenant, task_id, status, reason) is not None
