"""The agents of tasks: what they were given, how they stand, how they ended."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from purser.activities.errors import TaskNotFound
from purser.activities.tasks.file import TaskFile
from purser.budget.postgres.connections.pools import Connection, Pool, connected
from purser.budget.postgres.connections.queries import load
from purser.workflows.contract import AgentOutcome, AgentRef, StatusUpdate, TaskRef, TaskStatus

_SQL = load("purser.activities.postgres", "agents.sql")


@dataclass(frozen=True)
class Given:
    """What an agent finds when it starts."""

    task: TaskFile
    submitter: str | None
    """Whom the task names."""
    submitted_by: str | None
    """Name of the key that submitted it."""
    vouched: bool
    """Whether that key may act for others."""
    user_id: str | None
    """Whose budget it draws on."""
    input_seq: int
    """The task's input, as a message of the session."""
    replies: Mapping[str, int]
    """Replies so far, by agent."""


class Agents:
    """Agents of all tenants."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def given(self, tenant: str, task_id: str) -> Given:
        """The task and the replies of the agents that have completed; raises `TaskNotFound`."""
        async with connected(self._pool, None) as own:
            found = await own.fetchrow(_SQL["brief"], tenant, task_id)
        if found is None:
            raise TaskNotFound(f"task {task_id[:140]!r} does not exist for this tenant")
        task = TaskFile.stored(found["body"])
        return Given(
            task,
            found["submitter"],
            found["submitted_by"],
            found["vouched"],
            found["user_id"],
            found["input_seq"],
            found["replies"],
        )

    async def running(self, agent: AgentRef, connection: Connection) -> None:
        """The agent asks for a turn."""
        await connection.execute(_SQL["running"], agent.tenant, agent.task_id, agent.agent_id)

    async def record(self, update: StatusUpdate) -> None:
        """Notes how a task or an agent stands, unless it has ended."""
        async with connected(self._pool, None) as own:
            if update.agent_id:
                await own.execute(_SQL["record_agent"], update.tenant, update.task_id, update.agent_id, update.status)
            else:
                await own.execute(_SQL["record_task"], update.tenant, update.task_id, update.status)

    async def close(self, agent: AgentRef, outcome: AgentOutcome) -> None:
        """Stores how an agent ended; the first end stays."""
        async with connected(self._pool, None) as own:
            await own.execute(
                _SQL["close_agent"],
                agent.tenant,
                agent.task_id,
                agent.agent_id,
                outcome.status,
                outcome.reason,
                outcome.scope,
            )

    async def unchecked(self, since: timedelta, limit: int) -> list[TaskRef]:
        """Tasks that have not ended and that nobody has asked for during `since`: from now on somebody has."""
        async with connected(self._pool, None) as own:
            return [TaskRef(**row) for row in await own.fetch(_SQL["unchecked"], since, limit)]

    async def lost(self, ref: TaskRef) -> timedelta:
        """Temporal does not know the task's workflow; for how long it has not."""
        async with connected(self._pool, None) as own:
            return await own.fetchval(_SQL["lost"], ref.tenant, ref.task_id) or timedelta()

    async def found(self, ref: TaskRef) -> None:
        """Temporal knows the task's workflow."""
        async with connected(self._pool, None) as own:
            await own.execute(_SQL["found"], ref.tenant, ref.task_id)

    async def close_task(
        self, tenant: str, task_id: str, status: TaskStatus, connection: Connection, *, reason: str = ""
    ) -> bool:
        """Stores how a task ended, with the reason where its workflow did not end it; false if it had ended before."""
        if await connection.fetchval(_SQL["close_task"], tenant, task_id, status, reason) is None:
            return False
        await connection.execute(_SQL["close_agents"], tenant, task_id, reason)
        return True
