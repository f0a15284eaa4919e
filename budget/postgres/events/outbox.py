"""The transactional outbox: signals to workflows, sent at least once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from purser.budget.postgres.connections.pools import Connection, Pool, affected, execute, fetch, fetchval
from purser.budget.postgres.connections.queries import load

_SQL = load("purser.budget.postgres.events", "outbox.sql")
LEASE = timedelta(seconds=30)
"""Time for which a claimed message belongs to its claimer."""
MAX_BACKOFF = timedelta(seconds=30)


@dataclass(frozen=True, slots=True)
class OutboxMessage:
    """A claimed message to a workflow."""

    tenant: str
    outbox_id: int
    workflow_id: str
    signal: str
    """Name of a signal; names that begin with `@` are instructions to the dispatcher."""
    payload: Mapping[str, Any]
    tries: int
    """Number of claims so far, including this one."""


async def put(
    connection: Connection,
    tenant: str,
    workflow_id: str,
    signal: str,
    payload: Mapping[str, Any],
    now: datetime | None = None,
) -> None:
    """Writes a message in the caller's transaction: it is sent if and only if that commits."""
    await put_to_each(connection, tenant, [workflow_id], signal, payload, now)


async def put_to_each(
    connection: Connection,
    tenant: str,
    workflow_ids: Sequence[str],
    signal: str,
    payload: Mapping[str, Any],
    now: datetime | None,
) -> None:
    """As `put`, the same message to each of several workflows."""
    await connection.execute(_SQL["put"], tenant, workflow_ids, signal, dict(payload), now)


class Outbox:
    """Messages to be sent. Any number of processes may claim at the same time."""

    def __init__(self, pool: Pool, *, now: datetime | None = None) -> None:
        self._pool = pool
        self.now = now

    async def claim(self, limit: int = 50) -> list[OutboxMessage]:
        """Claims messages that are due; after the lease they are due again unless they have been marked."""
        rows = await fetch(self._pool, _SQL["claim"], limit, LEASE, self.now)
        return sorted((OutboxMessage(*row) for row in rows), key=lambda message: message.outbox_id)

    async def holds(self, tenant: str, workflow_id: str) -> bool:
        """Whether a message to this workflow has not been sent yet."""
        waits: bool = await fetchval(self._pool, _SQL["holds"], tenant, workflow_id)
        return waits

    async def sent(self, message: OutboxMessage) -> None:
        """Marks a message as sent."""
        await execute(self._pool, _SQL["sent"], message.tenant, message.outbox_id, self.now)

    async def failed(self, message: OutboxMessage) -> None:
        """Marks a message as failed: it is due again after 1 s, 2 s, 4 s, … up to 30 s."""
        backoff = min(MAX_BACKOFF, timedelta(seconds=2 ** min(message.tries - 1, 16)))
        await execute(self._pool, _SQL["failed"], message.tenant, message.outbox_id, backoff, self.now)

    async def forget(self, age: timedelta, limit: int = 1_000) -> int:
        """Deletes those of the `limit` oldest sent messages that are older than `age`; returns how many."""
        return affected(await execute(self._pool, _SQL["forget"], age, limit, self.now))
