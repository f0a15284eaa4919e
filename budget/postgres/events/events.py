"""Events in a total order from which readers can resume.

Positions are assigned after commit, by one process at a time: a reader that has seen a position has seen all lower
ones.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

import asyncpg

from purser.budget.postgres.connections.pools import Pool, fetch, fetchval
from purser.budget.postgres.connections.queries import load

_SQL = load("purser.budget.postgres.events", "events.sql")
BATCH = 1_000
"""Most events whose positions are assigned in one transaction."""


class EventKind(StrEnum):
    """Subject of an event."""

    THRESHOLD = "threshold"
    """A budget has reached one of its warning ratios."""
    SHADOW = "shadow"
    """A policy that only records would have held up a call, for the first time in its window."""
    BUDGET = "budget"
    """A stored policy was changed, or its scope was frozen."""
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
    """An event. It never contains text of a conversation."""

    position: int
    """Place in the order of all events of all tenants, from which readers resume. Positions have gaps."""
    at: datetime
    tenant: str
    kind: str
    """An `EventKind`; others may be added."""
    scope: str | None
    data: Mapping[str, Any]
    """Ids, figures and codes, by kind: `docs/reference/events.md`."""


class Events:
    """Events of all tenants."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def number(self) -> int:
        """Assigns positions to committed events that have none, at most `BATCH`; returns how many.

        Any number of processes may call this at the same time: one does the work, the others get 0.
        """
        count: int = await fetchval(self._pool, _SQL["number"], BATCH)
        return count

    async def newest(self) -> int:
        """The highest position assigned so far; 0 if there is none."""
        position: int = await fetchval(self._pool, _SQL["newest"])
        return position

    async def newest_forgotten(self) -> int:
        """The highest position whose event retention has deleted; 0 if it has deleted none."""
        position: int = await fetchval(self._pool, _SQL["newest_forgotten"])
        return position

    async def after(self, position: int, limit: int) -> list[Event]:
        """Reads at most `limit` events of all tenants after a position."""
        return [read_event(row) for row in await fetch(self._pool, _SQL["after"], position, limit)]

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
        """Reads the next events of one tenant.

        Args:
            tenant: tenant of the events.
            after, until: positions, exclusive and inclusive.
            kinds: only events of these kinds.
            scopes: only events of these scopes; a scope includes its further limits, a task its agents.
            limit: most events to return.
        """
        return [
            read_event(row) for row in await fetch(self._pool, _SQL["page"], tenant, after, until, kinds, scopes, limit)
        ]

    async def of(self, tenants: Sequence[str], kinds: Sequence[str], after: int, until: int, limit: int) -> list[Event]:
        """Reads at most `limit` events of these tenants and kinds, after one position and up to another."""
        return [read_event(row) for row in await fetch(self._pool, _SQL["of"], after, until, tenants, kinds, limit)]

    async def forgotten(self, tenant: str) -> int:
        """The highest position of a tenant that retention has deleted; 0 if there is none."""
        position: int = await fetchval(self._pool, _SQL["forgotten"], tenant)
        return position

    async def forget(self, age: timedelta, limit: int = BATCH) -> int:
        """Deletes those of the `limit` oldest events that are older than `age`; returns how many."""
        count: int = await fetchval(self._pool, _SQL["forget"], age, limit)
        return count


def read_event(row: asyncpg.Record) -> Event:
    """Reads a row of `events` that has a position."""
    data = dict(row["data"])
    if row["threshold"] is not None:
        start = row["window_start"]
        data |= {"threshold": float(row["threshold"]), "window_start": start and start.isoformat()}
    return Event(row["position"], row["at"], row["tenant"], row["kind"], row["scope"], data)
