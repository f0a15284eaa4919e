"""Figures of webhook deliveries for metrics."""

from dataclasses import dataclass

from purser.budget.postgres.connections.pools import Pool, fetchrow, row
from purser.budget.postgres.connections.queries import load
from purser.budget.postgres.events.events import Events

_SQL = load("purser.gateway.postgres", "delivery_figures.sql")


@dataclass(frozen=True, slots=True)
class DeliveryFigures:
    """Figures of the deliveries of all tenants."""

    pending: int
    """Number of pending deliveries, without those that end because their webhook is disabled."""
    failing: int
    """Of these, the number that failed before."""
    oldest_s: float
    """Age of the oldest pending delivery in seconds; 0 if there is none."""
    disabled: int
    """Number of webhooks that were disabled because their receiver answered 410."""
    unseen_s: float
    """Age in seconds of the oldest event for which no deliveries have been created yet; 0 if there is none."""


async def delivery_figures(pool: Pool) -> DeliveryFigures:
    """Reads the current figures.

    Raises:
        LedgerUnavailable: Postgres is unavailable.
    """
    found = row(await fetchrow(pool, _SQL["figures"]))
    unseen = [(found["read_at"] - event.at).total_seconds() for event in await Events(pool).after(found["position"], 1)]
    return DeliveryFigures(
        found["pending"],
        found["failing"],
        max(0.0, found["oldest_s"]),
        found["disabled"],
        max([0.0, *unseen]),
    )
