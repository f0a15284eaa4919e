"""Usage statistics of all tenants, for the configuration linter."""

from purser.budget.postgres.connections.pools import Connection
from purser.budget.postgres.connections.queries import load
from purser.context.pitfalls import UsageStatistics

_SQL = load("purser.context.postgres.sessions", "usage_statistics.sql")
NEWEST = 1_000
"""Number of newest sessions, and of newest summaries, that are counted."""


async def usage_statistics(connection: Connection) -> UsageStatistics:
    """Counts over the newest sessions and summaries of all tenants; it returns neither ids nor texts."""
    row = await connection.fetchrow(_SQL["usage_statistics"], NEWEST)
    assert row is not None
    return UsageStatistics(**row)
