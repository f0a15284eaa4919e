"""The outbox: messages to workflows, written in the transaction that causes them, sent at least once."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from purser.budget.postgres.connections.pools import Connection, Pool, connected
from purser.budget.postgres.connections.queries import load

_SQL = load("purser.budget.postgres.events", "outbox.sql")
LEASE = timedelta(seconds=30)
"""How long a claimed message is left to its claimer."""
MAX_BACKOFF = timedelta(seconds=30)


@dataclass(frozen=True, slots=True)
class Parcel:
    """A message on its way to a workflow."""

    outbox_id: int
    workflow_id: str
    signal: str
    """Name of a signal; names that begin with `@` are orders to the dispatcher."""
    payload: Mapping[str, Any]
    tries: int
    """Claims so far, this one included."""


async def put(
    connection: Connection, workflow_id: str, signal: str, payload: Mapping[str, Any], now: datetime | None = None
) -> None:
    """Writes a message in the caller's transaction: it is sent if and only if that commits."""
    await connection.execute(_SQL["put"], workflow_id, signal, dict(payload), now)


class Outbox:
    """Messages that wait to be sent. Any number of processes may claim at once."""

    def __init__(self, pool: Pool, *, now: datetime | None = None) -> None:
        self._pool = pool
        self.now = now

    async def claim(self, limit: int = 50) -> list[Parcel]:
        """Takes messages that are due; they are due again after a lease unless they are marked before."""
        async with connected(self._pool, None) as own:
            rows = await own.fetch(_SQL["claim"], limit, LEASE, self.now)
        return sorted((Parcel(*row) for row in rows), key=lambda parcel: parcel.outbox_id)

    async def holds(self, workflow_id: str) -> bool:
        """Whether something for this workflow waits to be sent."""
        async with connected(self._pool, None) as own:
            waits: bool = await own.fetchval(_SQL["holds"], workflow_id)
        return waits

    async def sent(self, parcel: Parcel) -> None:
        """The message has arrived."""
        async with connected(self._pool, None) as own:
            await own.execute(_SQL["sent"], parcel.outbox_id, self.now)

    async def failed(self, parcel: Parcel) -> None:
        """The message could not be sent: it is due again after 1 s, 2 s, 4 s, … up to 30 s."""
        backoff = min(MAX_BACKOFF, timedelta(seconds=2 ** min(parcel.tries - 1, 16)))
        async with connected(self._pool, None) as own:
            await own.execute(_SQL["failed"], parcel.outbox_id, backoff, self.now)

    async def forget(self, age: timedelta, limit: int = 1_000) -> int:
        """Deletes messages sent longer ago than `age`, looking at the `limit` oldest; returns how many."""
        async with connected(self._pool, None) as own:
            done: str = await own.execute(_SQL["forget"], age, limit, self.now)
        return int(done.split()[-1])
