"""Retention of the ledger: old ranges of the journal are deleted, and closings take their place.

See `schema/reports/retention.sql`.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from purser.budget.postgres.connections.pools import Pool, connected
from purser.budget.postgres.connections.queries import load

_SQL = load("purser.budget.postgres.audit", "retention.sql")
LEAST = timedelta(days=62)
"""Least age of what is deleted: rolling windows look back 31 days, and so does what they posted as rolled off."""
TOGETHER = 200
"""Most rolling balances that are locked at once."""
TIMEOUT_S = 300.0
"""Timeout of one range, of which each row is read, hashed and deleted."""


class Outcome(StrEnum):
    """What became of the oldest range."""

    CLOSED = "closed"
    """It was deleted."""
    NONE = "none"
    """No closed range is old enough."""
    BUSY = "busy"
    """Another process deletes it."""
    HELD = "held"
    """A hold of it is open."""
    ROLLING = "rolling"
    """Some of its charges have not fallen out of a rolling window."""
    ALTERED = "altered"
    """It does not match the digest of its checkpoint."""
    UNPROVEN = "unproven"
    """Its entries and postings do not give the same balances."""


@dataclass(frozen=True, slots=True)
class ClosedRange:
    """The oldest range, and what became of it."""

    outcome: Outcome
    first_number: int | None = None
    """Number of its first event; `None` if no range is due."""
    last_number: int | None = None
    events: int = 0


class LedgerRetention:
    """Deletes old ranges of the ledger. Any number of processes may do so at the same time."""

    def __init__(self, pool: Pool, age: timedelta, *, now: datetime | None = None) -> None:
        """Args:
        pool: from `purser.budget.postgres.connections.pools.create_pool`.
        age: retention period, at least `LEAST`.
        now: replaces the server's clock.
        """
        self._pool = pool
        self._age = age
        self.now = now

    async def close(self) -> ClosedRange:
        """Deletes the oldest range, if all its events are old enough, or says why it stays."""
        async with connected(self._pool, None) as own:
            while await own.fetchval(_SQL["roll_off"], self._age, TOGETHER, self.now, timeout=TIMEOUT_S):
                pass
            found = await own.fetchrow(_SQL["close"], self._age, self.now, timeout=TIMEOUT_S)
        if found is None:
            return ClosedRange(Outcome.BUSY)
        return ClosedRange(Outcome(found["outcome"]), found["first_number"], found["last_number"], found["events"] or 0)
