"""How the deliveries to webhooks stand, for metrics."""

from dataclasses import dataclass

from purser.budget.postgres.connections.pools import Pool, connected, row
from purser.budget.postgres.connections.queries import load

_SQL = load("purser.gateway.postgres", "delivery_figures.sql")


@dataclass(frozen=True, slots=True)
class DeliveryFigures:
    """Deliveries of all tenants."""

    pending: int
    """To be made."""
    failing: int
    """Of those, the ones that failed before."""
    oldest_s: float
    """Age of the oldest to be made, in seconds; 0 without any."""
    disabled: int
    """Webhooks that were turned off because they failed too long."""


async def delivery_figures(pool: Pool) -> DeliveryFigures:
    """The figures of now.

    Raises:
        LedgerUnavailable: Postgres is away.
    """
    async with connected(pool, None) as own:
        found = row(await own.fetchrow(_SQL["figures"]))
    return DeliveryFigures(found["pending"], found["failing"], max(0.0, found["oldest_s"]), found["disabled"])
