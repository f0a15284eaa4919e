"""How the system is used, for the linter."""

from purser.budget.postgres.connections.pools import Connection
from purser.budget.postgres.connections.queries import load
from purser.context.windows.lint import UsageStatistics

_SQL = load("purser.context.postgres.sessions", "usage_statistics.sql")
NEWEST = 1_000
"""Sessions, and summaries, that are looked at."""


async def usage_statistics(connection: Connection) -> UsageStatistics:
    """Counts over the newest sessions and summaries of all tenants; ids and texts stay where they are."""
    row = await connection.fetchrow(_SQL["usage_statistics"], NEWEST)
    assert row is not None
    return UsageStatistics(**row)
