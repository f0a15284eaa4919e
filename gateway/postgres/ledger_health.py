"""Health figures of the ledger, for operators."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from purser.budget.postgres.connections.pools import Pool, fetch, fetchrow, row
from purser.budget.postgres.connections.queries import load
from purser.budget.texts import number_of

_SQL = load("purser.gateway.postgres", "ledger_health.sql")
OLDEST = 20
"""Most open holds that are listed."""
ATTEMPTS = 50
"""Most attempts of a hold that are listed."""


@dataclass(frozen=True, slots=True)
class OpenHolds:
    """Holds of a tenant that have not ended."""

    holds: int
    tokens: int
    nano_usd: int
    oldest: datetime | None
    overdue: int
    """Number of holds past their lease; the sweeper expires them after the grace."""


@dataclass(frozen=True, slots=True)
class OpenHold:
    """A hold that has not ended."""

    hold_id: int
    path: tuple[str, ...]
    model: str | None
    attempts: int
    tokens: int
    nano_usd: int
    created_at: datetime
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class HoldAttempt:
    """One request to a provider under a hold."""

    attempt: int
    state: str
    """`started`, `presumed` or `reported`."""
    tokens: int
    """The estimate until it has reported, then the charge."""
    nano_usd: int
    overrun_tokens: int
    late: bool
    usage: Mapping[str, int] | None
    """The reported usage."""
    started_at: datetime
    reported_at: datetime | None


@dataclass(frozen=True, slots=True)
class Faults:
    """Numbers of a tenant's holds with faults."""

    expired: int
    """Holds that expired."""
    late: int
    """Holds with a late report."""
    presumed: int
    """Holds with an attempt that started and never reported."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """Messages that have not been sent."""

    waiting: int
    oldest: datetime | None
    tries: int
    """Most attempts for one message."""


class LedgerHealth:
    """Reads health figures of the ledger."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def open(self, tenant: str) -> OpenHolds:
        """Counts open holds."""
        return OpenHolds(**dict(row(await fetchrow(self._pool, _SQL["open"], tenant))))

    async def oldest(self, tenant: str) -> list[OpenHold]:
        """Lists the oldest open holds, oldest first."""
        rows = await fetch(self._pool, _SQL["oldest"], tenant, OLDEST)
        return [OpenHold(**{**one, "path": tuple(one["path"])}) for one in rows]

    async def attempts(self, tenant: str, hold_id: str) -> list[HoldAttempt]:
        """Lists the first attempts of a hold; none if the tenant has no such hold."""
        rows = await fetch(self._pool, _SQL["attempts"], tenant, number_of(hold_id), ATTEMPTS)
        return [HoldAttempt(**dict(one)) for one in rows]

    async def faults(self, tenant: str, since: datetime) -> Faults:
        """Counts faults since a time."""
        found = {one["kind"]: one["holds"] for one in await fetch(self._pool, _SQL["faults"], tenant, since)}
        return Faults(found.get("expire", 0), found.get("late", 0), found.get("presumed", 0))

    async def outbox(self, tenant: str) -> Waiting:
        """Counts unsent messages to workflows of the tenant."""
        return Waiting(**dict(row(await fetchrow(self._pool, _SQL["outbox"], tenant))))

    async def deliveries(self, tenant: str) -> Waiting:
        """Counts pending deliveries to the tenant's webhooks."""
        return Waiting(**dict(row(await fetchrow(self._pool, _SQL["deliveries"], tenant))))
