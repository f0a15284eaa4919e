"""The result of the last audit, stored so that every process shows the same, and the claim to run the next one."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from purser.budget.postgres.audit.audit import Audit
from purser.budget.postgres.connections.pools import Pool, connected, execute, fetchrow, fetchval
from purser.budget.postgres.connections.queries import load

_SQL = load("purser.budget.postgres.audit", "results.sql")
MOST_EXAMPLES = 50
"""Most differences that are stored; an audit on the command line lists all."""
LEASE = timedelta(minutes=15)
"""Time without `renew` after which another process may run an audit that did not end."""


@dataclass(frozen=True, slots=True)
class AuditRun:
    """An audit that has ended."""

    ended_at: datetime
    seconds: float
    by: str
    """Name of the key or of the component of Purser that started it."""
    checked: Mapping[str, int]
    """Number of rows checked, by table."""
    differences: int
    examples: tuple[Mapping[str, Any], ...]
    """The first differences, as in `Audit`."""
    error: str = ""
    """Type of the error with which it failed; then the figures are empty."""

    @classmethod
    def of(cls, found: Audit, seconds: float, by: str) -> "AuditRun":
        """The run that found this."""
        differences = found.differences
        return cls(found.ended_at, seconds, by, found.checked, len(differences), differences[:MOST_EXAMPLES])


class AuditResults:
    """The last audit of a database."""

    def __init__(self, pool: Pool, *, now: datetime | None = None) -> None:
        """Args:
        pool: from `purser.budget.postgres.connections.pools.create_pool`.
        now: replaces the server's clock.
        """
        self._pool = pool
        self.now = now

    async def claim(self, every: timedelta) -> bool:
        """Whether an audit is due and this process runs it; of several callers one does.

        Args:
            every: time from the end of an audit to the next.
        """
        return bool(await fetchval(self._pool, _SQL["claim"], every, LEASE, self.now))

    async def renew(self) -> None:
        """Extends the claim, so that no other process audits too."""
        await execute(self._pool, _SQL["renew"], LEASE)

    async def store(self, run: AuditRun) -> bool:
        """Replaces the last result and ends the claim; returns False on a read-only database, such as a replica."""
        async with connected(self._pool, None) as own:
            if await own.fetchval("show transaction_read_only") == "on":
                return False
            await own.execute(
                _SQL["store"], run.ended_at, run.seconds, run.by, dict(run.checked), run.differences,
                [dict(one) for one in run.examples],
            )  # fmt: skip
            return True

    async def last(self) -> AuditRun | None:
        """The last audit that ended; `None` if none has."""
        found = await fetchrow(self._pool, _SQL["last"])
        return AuditRun(**dict(found) | {"examples": tuple(found["examples"])}) if found else None
