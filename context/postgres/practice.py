"""How the system is used, for the linter."""

from budget.postgres.connection import Connection
from budget.postgres.queries import load
from context.lint import Practice

_SQL = load("context.postgres", "practice.sql")
NEWEST = 1_000
"""Sessions, and summaries, that are looked at."""


async def practice(connection: Connection) -> Practice:
    """Counts over the newest sessions and summaries of all tenants; ids and texts stay where they are."""
    row = await connection.fetchrow(_SQL["practice"], NEWEST)
    assert row is not None
    return Practice(**row)
