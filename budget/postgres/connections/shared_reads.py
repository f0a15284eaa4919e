"""Reads that are shared by callers that ask for the same at the same time."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

from purser.budget.postgres.connections.pools import ACQUIRE_S, reaching_ledger

K = TypeVar("K")
V = TypeVar("V")


class SharedReads(Generic[K, V]):
    """Reads a value at most twice at a time, however many callers ask for it.

    A caller never gets what was read before it asked: while a read is in progress, later callers wait for the next one,
    which all of them share. So nothing is cached, and a change is seen by everybody who asks after it.
    """

    def __init__(self, read: Callable[[K], Awaitable[V]]) -> None:
        self._read = read
        self._running: dict[K, asyncio.Task[V]] = {}
        self._next: dict[K, asyncio.Task[V]] = {}

    async def get(self, key: K) -> V:
        """Returns the value as of now; raises what reading it raises.

        Raises:
            LedgerUnavailable: it could not be read within `ACQUIRE_S`, with the wait for a read in progress.
        """
        if key not in self._next:
            self._next[key] = asyncio.create_task(self._after(self._running.get(key), key))
            self._next[key].add_done_callback(_ignore_error)
        with reaching_ledger():
            async with asyncio.timeout(ACQUIRE_S):
                # The others still need the value if this caller is cancelled.
                return await asyncio.shield(self._next[key])

    async def _after(self, before: asyncio.Task[V] | None, key: K) -> V:
        if before is not None:
            await asyncio.wait([before])
        task = self._running[key] = self._next.pop(key)
        try:
            return await self._read(key)
        finally:
            if self._running[key] is task:
                del self._running[key]


def _ignore_error(task: "asyncio.Task[V]") -> None:
    """Marks an error as retrieved: all callers of a read may have been cancelled."""
    if not task.cancelled():
        task.exception()
