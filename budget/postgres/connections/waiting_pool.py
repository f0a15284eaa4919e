"""A pool whose callers wait for its connections while Postgres accepts no further one."""

import asyncio
from typing import TYPE_CHECKING, Any, TypeAlias

import asyncpg

from purser.budget.errors import LedgerUnavailable

if TYPE_CHECKING:
    _Pool: TypeAlias = asyncpg.Pool[asyncpg.Record]
    _Connection: TypeAlias = asyncpg.pool.PoolConnectionProxy[asyncpg.Record]
else:  # these are generic only in the stubs
    _Pool, _Connection = asyncpg.Pool, asyncpg.pool.PoolConnectionProxy

RECONNECT_S = 1.0
"""Seconds for which a place whose connection was refused is left alone: the callers share the others."""


class WaitingPool(_Pool):
    """A pool that raises what connecting raises only while none of its places is connected."""

    def __init__(self, *, size: int, **options: Any) -> None:
        """Args:
        size: most connections.
        options: as of `asyncpg.create_pool`.
        """
        self._free = asyncio.Semaphore(size)
        super().__init__(
            min_size=1,
            max_size=size,
            max_queries=50_000,
            max_inactive_connection_lifetime=300,
            loop=None,
            record_class=asyncpg.Record,
            **options,
        )

    async def _acquire(self, timeout: float | None) -> _Connection:
        # Every way to a connection calls it, and gets a connected place if one is free. asyncpg has no public hook.
        async with asyncio.timeout(timeout):
            while True:
                await self._free.acquire()
                try:
                    return await super()._acquire(None)  # type: ignore[misc,no-any-return]
                except BaseException as error:
                    refused = isinstance(error, LedgerUnavailable | OSError) and self.get_size() > 0
                    asyncio.get_running_loop().call_later(RECONNECT_S if refused else 0, self._free.release)
                    if not refused:
                        raise

    async def release(self, connection: Any, *, timeout: float | None = None) -> None:
        """Overrides asyncpg's: lets the next caller have the place."""
        try:
            await super().release(connection, timeout=timeout)
        finally:
            self._free.release()
