"""Events: what people and pages are told, in an order from which readers continue.

A position is given after commit, by one process at a time: whoever has seen a position has seen all below it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

import asyncpg

from purser.budget.postgres.connections.pools import Connection, Pool, connected
from purser.budget.postgres.connections.queries import load
from purser.budget.scopes import Scope

_SQL = load("purser.budget.postgres.events", "events.sql")
BATCH = 1_000
"""Events that get their position in one transaction."""


class EventKind(StrEnum):
    """What an event is about."""

    THRESHOLD = "threshold"
    """A budget has reached one of its warning ratios."""
    BUDGET = "budget"
    """A stored policy was changed, or its scope frozen."""
    APPROVAL = "approval"
    """A request was opened, joined, decided, withdrawn, or has expired."""
    COMPRESSION = "compression"
    """A conversation has a new summary."""
    TASK = "task"
    AGENT = "agent"
    TURN = "turn"
    """A turn was admitted, settled or rejected."""


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened. Never a text of a conversation."""

    position: int
    """Where it stands in the order of all events of all tenants; readers continue after it. Positions have gaps."""
    at: datetime
    tenant: str
    kind: str
    """An `EventKind`; others may be added."""
    scope: str | None
    data: Mapping[str, Any]
    """Ids, figures and codes, by kind: `docs/reference/events.md`."""


async def put(
    connection: Connection, tenant: str, kind: EventKind, scope: Scope | None, data: Mapping[str, Any]
) -> None:
    """Writes an event in the caller's transaction: it is told if and only if that commits."""
    await connection.execute(_SQL["put"], tenant, kind, scope and str(scope), dict(data))


class Events:
    """Events of all tenants."""

    def __init__(self, pool: Pool, *, now: datetime | None = None) -> None:
        self._pool = pool
        self.now = now

    async def number(self) -> int:
        """Gives positions to committed events that have none, `BATCH` at most; returns how many.

        Every process may try: one does it, the others get 0.
        """
        async with connected(self._pool, None) as own:
            count: int = await own.fetchval(_SQL["number"], BATCH)
        return count

    async def newest(self) -> int:
        """The last position that was given, 0 if none was."""
        async with connected(self._pool, None) as own:
            position: int = await own.fetchval(_SQL["newest"])
        return position

    async def after(self, position: int, limit: int) -> list[Event]:
        """The next events of all tenants."""
        async with connected(self._pool, None) as own:
            return [read_event(row) for row in await own.fetch(_SQL["after"], position, limit)]

    async def page(
        self,
        tenant: str,
        after: int,
        until: int,
        *,
        kinds: Sequence[str] | None = None,
        scopes: Sequence[str] | None = None,
        limit: int = 100,
    ) -> list[Event]:
        """The next events of one tenant.

        Args:
            tenant: whose events.
            after, until: positions; the first is left out, the last is not.
            kinds: only these.
            scopes: only of these; a task stands for its agents too.
            limit: at most this many.
        """
        async with connected(self._pool, None) as own:
            return [
                read_event(row) for row in await own.fetch(_SQL["page"], tenant, after, until, kinds, scopes, limit)
            ]

    async def of(self, tenants: Sequence[str], kinds: Sequence[str], after: int, until: int, limit: int) -> list[Event]:
        """The next events of these tenants and kinds, after a position and up to another."""
        async with connected(self._pool, None) as own:
            return [read_event(row) for row in await own.fetch(_SQL["of"], after, until, tenants, kinds, limit)]

    async def forgotten(self, tenant: str) -> int:
        """The last position of a tenant that retention has deleted, 0 if none was."""
        async with connected(self._pool, None) as own:
            position: int = await own.fetchval(_SQL["forgotten"], tenant)
        return position

    async def forget(self, age: timedelta, limit: int = BATCH) -> int:
        """Deletes events older than `age`, looking at the `limit` oldest; returns how many."""
        async with connected(self._pool, None) as own:
            count: int = await own.fetchval(_SQL["forget"], age, limit, self.now)
        return count


def read_event(row: asyncpg.Record) -> Event:
    """A row of `events` with a position."""
    data = dict(row["data"])
    if row["threshold"] is not None:
        start = row["window_start"]
        data |= {"threshold": float(row["threshold"]), "window_start": start and start.isoformat()}
    return Event(row["position"], row["at"], row["tenant"], row["kind"], row["scope"], data)
