"""Deletes what has served its time: events, messages to workflows that were sent, deliveries that have ended."""

from collections.abc import Awaitable, Callable
from datetime import timedelta

from purser.budget.postgres.events.events import Events
from purser.budget.postgres.events.outbox import Outbox
from purser.gateway.postgres.deliveries import Deliveries

EVERY_S = 60.0
OUTBOX_AGE = timedelta(days=7)
BATCHES = 20
"""Batches of one table at most in one round: nothing else waits for long."""


class Forgetting:
    """What is kept for so long, and no longer."""

    def __init__(self, events: Events, outbox: Outbox, deliveries: Deliveries, age: timedelta) -> None:
        """Args:
        events, outbox, deliveries: where it is deleted from.
        age: of events and deliveries.
        """
        self._steps: list[Callable[[], Awaitable[int]]] = [
            lambda: events.forget(age),
            lambda: outbox.forget(OUTBOX_AGE),
            lambda: deliveries.forget(age),
        ]

    async def sweep(self) -> int:
        """Deletes what is due, in bounded batches; returns how many rows."""
        deleted = 0
        for step in self._steps:
            for _ in range(BATCHES):
                count = await step()
                deleted += count
                if not count:
                    break
        return deleted
