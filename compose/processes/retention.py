"""Retention: deletes old events, sent outbox messages, finished webhook deliveries, and old ranges of the ledger."""

from collections.abc import Awaitable, Callable
from datetime import timedelta

import structlog

from purser.budget.postgres.audit.retention import LedgerRetention, Outcome
from purser.budget.postgres.events.events import Events
from purser.budget.postgres.events.outbox import Outbox
from purser.gateway.postgres.deliveries import Deliveries

EVERY_S = 60.0
MORE_S = 1.0
"""Seconds between two ranges of the ledger while several are due."""
OUTBOX_AGE = timedelta(days=7)
BATCHES = 20
"""Maximum number of batches per table in one round, so that nothing else waits for long."""

_STAYS = {
    Outcome.HELD: "a hold of it is open",
    Outcome.ROLLING: "some of its charges have not fallen out of a rolling window",
}
_STOPS = {
    Outcome.ALTERED: "it does not match its checkpoint: run an audit",
    Outcome.UNPROVEN: "its entries do not add up to its balances: run an audit",
}
log = structlog.get_logger(__name__)


class Retention:
    """Deletes rows that are older than their retention period."""

    def __init__(self, events: Events, outbox: Outbox, deliveries: Deliveries, age: timedelta) -> None:
        """Args:
        events, outbox, deliveries: stores to delete from.
        age: retention period of events and deliveries.
        """
        self._steps: list[Callable[[], Awaitable[int]]] = [
            lambda: events.forget(age),
            lambda: outbox.forget(OUTBOX_AGE),
            lambda: deliveries.forget(age),
        ]

    async def sweep(self) -> int:
        """Delete what is due, in bounded batches; returns the number of rows."""
        deleted = 0
        for step in self._steps:
            for _ in range(BATCHES):
                count = await step()
                deleted += count
                if not count:
                    break
        return deleted


class LedgerSweep:
    """Deletes ranges of the ledger that are due, one at a time, and says in the log why one stays."""

    def __init__(self, retention: LedgerRetention) -> None:
        """Args:
        retention: deletes one range.
        """
        self._retention = retention
        self._last = Outcome.NONE

    async def step(self) -> Outcome:
        """Deletes the oldest range, if it is due."""
        found = await self._retention.close()
        numbers = {"first_number": found.first_number, "last_number": found.last_number}
        if found.outcome is Outcome.CLOSED:
            log.info("a range of the ledger was deleted", events=found.events, **numbers)
        elif found.outcome in _STOPS:
            log.error("retention of the ledger stopped at a range", reason=_STOPS[found.outcome], **numbers)
        elif found.outcome in _STAYS and found.outcome is not self._last:
            log.warning("a range of the ledger is kept for now", reason=_STAYS[found.outcome], **numbers)
        self._last = found.outcome
        return found.outcome

    def pause_s(self) -> float:
        """Seconds until the next step: few while ranges are due."""
        return MORE_S if self._last is Outcome.CLOSED else EVERY_S
