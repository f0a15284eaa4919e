"""Retention: deletes old events, sent outbox messages and finished webhook deliveries."""

from collections.abc import Awaitable, Callable
from datetime import timedelta

from purser.budget.postgres.events.events import Events
from purser.budget.postgres.events.outbox import Outbox
from purser.gateway.postgres.deliveries import Deliveries

EVERY_S = 60.0
OUTBOX_AGE = timedelta(days=7)
BATCHES = 20
"""Maximum number of batches per table in one round, so that nothing else waits for long."""


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
