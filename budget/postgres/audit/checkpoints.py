"""Checkpoints: chained digests of closed ranges of entries; see `schema/reports/checkpoints.sql`."""

from purser.budget.postgres.connections.pools import Pool, fetchval
from purser.budget.postgres.connections.queries import load

_SQL = load("purser.budget.postgres.audit", "checkpoints.sql")
EVERY_S = 60.0
"""Seconds between checkpoints: a change to an entry before its range is closed goes undetected."""
MAX_RANGE = 20_000
"""Most entry ids in one range."""


class Checkpoints:
    """Makes checkpoints. Any number of processes may do so at the same time."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def make(self) -> int:
        """Closes the ids that no running transaction can still use, without blocking any; returns how many."""
        total = 0
        while True:
            closed: int = await fetchval(self._pool, _SQL["make"], MAX_RANGE)
            total += closed
            if closed < MAX_RANGE:
                return total
