"""Checkpoints: digests of closed ranges of entries, chained; see `schema/checkpoints.sql`."""

from datetime import datetime

from purser.budget.postgres.connections.pools import Pool, connected
from purser.budget.postgres.connections.queries import load

_SQL = load("purser.budget.postgres.ledger", "checkpoints.sql")
EVERY_S = 60.0
"""How often to close a range: what is rewritten before does not show in a digest."""
MOST = 20_000
"""Numbers of one range at most."""


class Checkpoints:
    """Makes checkpoints. Any number of processes may."""

    def __init__(self, pool: Pool, *, now: datetime | None = None) -> None:
        """Args:
        pool: from `purser.budget.postgres.create_pool`.
        now: stands for the server's clock.
        """
        self._pool = pool
        self.now = now

    async def make(self) -> int:
        """Closes what every transaction is done with, without stopping any; returns how many numbers that are."""
        total = 0
        while True:
            async with connected(self._pool, None) as own:
                closed: int = await own.fetchval(_SQL["make"], MOST, self.now)
            total += closed
            if closed < MOST:
                return total
