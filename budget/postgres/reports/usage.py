"""Usage reports from the ledger."""

from collections.abc import Sequence
from datetime import datetime

import asyncpg

from purser.budget.gate import Amount
from purser.budget.postgres.connections.pools import Pool, connected
from purser.budget.postgres.connections.queries import load
from purser.budget.postgres.connections.time_zones import known_zones
from purser.budget.reports.usage import By, UsageLine, UsageReport
from purser.budget.scopes import Scope
from purser.budget.usage import CLASSES

_SQL = load("purser.budget.postgres.reports", "usage.sql")
_FIGURES = (*CLASSES, "reasoning", "unsplit")


class UsageReports:
    """Usage of all tenants."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def report(
        self, tenant: str, by: By, since: datetime, until: datetime, *,
        within: Sequence[Scope] = (), after: str | None = None, limit: int = 100, timezone: str = "UTC",
    ) -> UsageReport:  # fmt: skip
        """Sums the charges from `since` (inclusive) to `until` (exclusive).

        Args:
            tenant: tenant of the usage.
            by: dimension by which to sum.
            since: start of the time range, inclusive.
            until: end of the time range, exclusive.
            within: only holds with all of these scopes on their path.
            after: last id of the previous page.
            limit: most lines to return.
            timezone: IANA time zone in which days begin.

        Raises:
            InvalidPolicy: Postgres does not know the time zone.
        """
        names = [str(scope) for scope in dict.fromkeys(within)] or None
        async with connected(self._pool, None) as own, own.transaction(readonly=True):
            await own.execute(_SQL["plans"])
            with known_zones():
                rows = await own.fetch(_SQL["report"], tenant, str(by), since, until, after, limit, names, timezone)
        following = rows[-1]["id"] if len(rows) == limit else None
        return UsageReport(by, since, until, tuple(map(_line, rows)), following)


def _line(row: asyncpg.Record) -> UsageLine:
    return UsageLine(
        id=row["id"],
        tokens={name: row[name] or 0 for name in _FIGURES},
        charged=Amount(row["charged_tokens"], row["nano_usd"]),
        attempts=row["attempts"],
        unpriced_attempts=row["unpriced"],
        presumed_attempts=row["presumed"],
        presumed=Amount(row["presumed_tokens"] or 0, row["presumed_nano"] or 0),
        overrun=Amount(row["overrun_tokens"], row["overrun_nano"]),
    )
