"""Figures of webhook deliveries for metrics."""

from dataclasses import dataclass

from purser.budget.postgres.connections.pools import Pool, connected, row
from purser.budget.postgres.connections.queries import load

_SQL = load("purser.gateway.postgres", "delivery_figures.sql")


@dataclass(frozen=True, slots=True)
class DeliveryFigures:
    """Figures of the deliveries of all tenants."""

    pending: int
    """Number of pending deliveries."""
    failing: int
    """Of these, the number that failed before."""
    oldest_s: float
    """Age of the oldest pending delivery in seconds; 0 if there is none."""
    disabled: int
    """Number of webhooks that were disabled because they failed for too long."""


async def delivery_figures(pool: Pool) -> DeliveryFigures:
    """Reads the current figures.

    Raises:
        LedgerUnavailable: Postgres is unavailable.
    """
    async with connected(pool, None) as own:
        found = row(await own.fetchrow(_SQL["figures"]))
    return DeliveryFigures(found["pending"], found["failing"], max(0.0, found["oldest_s"]), found["disabled"])
