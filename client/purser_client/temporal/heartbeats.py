"""Heartbeats of an activity while its call waits or runs."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from temporalio import activity
from temporalio.worker import ActivityOutboundInterceptor

_EVERY_S = 10.0
"""Without a time-out, in which three fit."""


class Heartbeats(ActivityOutboundInterceptor):
    """Sends heartbeats beside those of the activity.

    Not every model activity sends them; without them Temporal takes a long call for a dead worker, and a cancelled
    workflow cannot end its call.
    """

    _details: tuple[Any, ...] | None = None

    def heartbeat(self, *details: Any) -> None:
        self._details = details
        super().heartbeat(*details)

    @asynccontextmanager
    async def sent(self, info: activity.Info) -> AsyncIterator[None]:
        """Sends them until the end of the block.

        They repeat the details of the activity's own last one, or of the attempt before, which it may need. A local
        activity has none.
        """
        if info.is_local:
            yield
            return
        every = info.heartbeat_timeout.total_seconds() / 3 if info.heartbeat_timeout else _EVERY_S

        async def beat() -> None:
            while True:
                # Not through `activity`: in an activity of a thread that waits for the loop, which this would block.
                self.next.heartbeat(*(info.heartbeat_details if self._details is None else self._details))
                await asyncio.sleep(every)

        task = asyncio.create_task(beat())
        try:
            yield
        finally:
            task.cancel()
