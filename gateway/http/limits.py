"""Rate limits per key and per address, counted in this process: they protect this gateway.

Budgets are different: they are stored in Postgres and apply to all gateways together.
"""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from weakref import WeakValueDictionary

from limits import RateLimitItem, RateLimitItemPerMinute, RateLimitItemPerSecond
from limits.aio.storage import MemoryStorage
from limits.aio.strategies import SlidingWindowCounterRateLimiter

from purser.gateway.access.roles import Principal
from purser.gateway.errors import TooManyRequests

REQUESTS, FAILURES, ANONYMOUS = "requests", "failures", "anonymous"
STREAM_RETRY_MS = 5_000
LARGE_BODY_RETRY_MS = 1_000
CALL_RETRY_MS = 5_000
SESSION_READ_WAIT_S = 5
"""Seconds for which a request waits until others that read a session have ended."""


class Limits:
    """Sliding-window counters of one process: constant memory and time for each key and address."""

    def __init__(
        self,
        per_s: int,
        failures_per_min: int,
        *,
        open_per_s: int = 0,
        streams_per_key: int = 50,
        streams_per_tenant: int = 500,
        large_bodies_per_key: int = 4,
        call_bytes_per_key: int = 64 * 2**20,
        call_bytes_per_tenant: int = 256 * 2**20,
        waiting_calls_per_key: int = 100,
        session_reads_per_key: int = 2,
        session_reads_per_tenant: int = 4,
    ) -> None:
        """Args:
        per_s: requests per second of one key, unless the key has its own limit; 0: unlimited.
        failures_per_min: wrong keys per minute from one address; 0: unlimited.
        open_per_s: unauthenticated requests per second from one address; 0: unlimited.
        streams_per_key: open event streams of one key.
        streams_per_tenant: open event streams of all keys of a tenant.
        large_bodies_per_key: concurrent requests of one key with a large body.
        call_bytes_per_key: bytes of all bodies of one key's calls of models that have not ended.
        call_bytes_per_tenant: the same of all keys of a tenant.
        waiting_calls_per_key: calls of models of one key that wait for room or for a decision.
        session_reads_per_key: concurrent requests of one key that read a conversation as a whole.
        session_reads_per_tenant: the same of all keys of a tenant.
        """
        self._per_s = per_s
        self._failures_per_min = failures_per_min
        self._open_per_s = open_per_s
        self._streams_per_key = streams_per_key
        self._streams_per_tenant = streams_per_tenant
        self._large_bodies_per_key = large_bodies_per_key
        self._call_bytes_per_key = call_bytes_per_key
        self._call_bytes_per_tenant = call_bytes_per_tenant
        self._waiting_calls_per_key = waiting_calls_per_key
        self._session_reads_per_key = session_reads_per_key
        self._session_reads_per_tenant = session_reads_per_tenant
        self._readers: WeakValueDictionary[tuple[str, str], asyncio.Semaphore] = WeakValueDictionary()
        self._open: Counter[tuple[str, str]] = Counter()
        self._limiter = SlidingWindowCounterRateLimiter(MemoryStorage())

    async def request(self, caller: Principal, count: int = 1) -> None:
        """Counts a request of a key, or the `count` that one stands for; raises `TooManyRequests`."""
        per_s = self.per_s(caller)
        if not per_s:
            return
        excess = (
            f"this key has sent more than {per_s} requests in a second: wait as long as the response says, "
            "or ask an admin for a key with another limit"
        )
        await self._hit(RateLimitItemPerSecond(per_s), REQUESTS, caller.key_id, excess, count)

    def per_s(self, caller: Principal) -> int:
        """Requests per second of a key; 0: unlimited."""
        return caller.rate_limit_per_s or self._per_s

    async def failure(self, address: str) -> None:
        """Counts an invalid key or link from `address`; raises `TooManyRequests`.

        Only failures are counted and only failures are refused: a valid key from the same proxy address still works.
        """
        if not self._failures_per_min:
            return
        excess = (
            f"this address has sent more than {self._failures_per_min} invalid keys in a minute: "
            "wait as long as the response says, and correct the key"
        )
        await self._hit(RateLimitItemPerMinute(self._failures_per_min), FAILURES, address, excess)

    async def anonymous(self, address: str) -> None:
        """Counts an unauthenticated request from `address`; raises `TooManyRequests`."""
        if not self._open_per_s:
            return
        excess = (
            f"this address has sent more than {self._open_per_s} requests in a second without a key: wait as long "
            "as the response says, or send a key"
        )
        await self._hit(RateLimitItemPerSecond(self._open_per_s), ANONYMOUS, address, excess)

    @contextmanager
    def stream(self, caller: Principal) -> Iterator[None]:
        """Counts an event stream as open until the end of the block; raises `TooManyRequests`."""
        key, tenant = ("streams of key", caller.key_id), ("streams of tenant", caller.tenant)
        for name, most, whose in (
            (key, self._streams_per_key, "this key"),
            (tenant, self._streams_per_tenant, "this tenant"),
        ):
            if self._open[name] >= most:
                raise TooManyRequests(
                    f"{whose} has {most} streams open: close one, or follow several kinds and scopes with one stream",
                    STREAM_RETRY_MS,
                )
        with self._counted(key, tenant):
            yield

    @contextmanager
    def large_body(self, caller: Principal) -> Iterator[None]:
        """Counts a request with a large body until the end of the block; raises `TooManyRequests`."""
        name, most = ("large bodies of key", caller.key_id), self._large_bodies_per_key
        if self._open[name] >= most:
            raise TooManyRequests(
                f"this key has {most} requests with a large body in progress: send one after the other",
                LARGE_BODY_RETRY_MS,
            )
        with self._counted(name):
            yield

    @contextmanager
    def model_call(self, caller: Principal, size: int) -> Iterator[None]:
        """Counts the bytes of a call of a model until the end of the block; raises `TooManyRequests`."""
        key, tenant = ("bytes of key", caller.key_id), ("bytes of tenant", caller.tenant)
        for name, most, whose in (
            (key, self._call_bytes_per_key, "this key"),
            (tenant, self._call_bytes_per_tenant, "this tenant"),
        ):
            if self._open[name] + size > most:
                raise TooManyRequests(
                    f"the bodies of calls that {whose} has in progress would exceed {most} bytes: wait for some to end",
                    CALL_RETRY_MS,
                )
        with self._counted(key, tenant, count=size):
            yield

    @contextmanager
    def waiting_call(self, caller: Principal) -> Iterator[None]:
        """Counts a call of a model as waiting until the end of the block; raises `TooManyRequests`."""
        name, most = ("waiting calls of key", caller.key_id), self._waiting_calls_per_key
        if self._open[name] >= most:
            raise TooManyRequests(f"this key has {most} calls waiting: prefer to wait with fewer", CALL_RETRY_MS)
        with self._counted(name):
            yield

    @asynccontextmanager
    async def session_read(self, caller: Principal) -> AsyncIterator[None]:
        """Waits until the caller may read a conversation as a whole in the block; raises `TooManyRequests`."""
        key, tenant = ("key", caller.key_id), ("tenant", caller.tenant)
        async with AsyncExitStack() as places:
            try:
                async with asyncio.timeout(SESSION_READ_WAIT_S):
                    for name, most in ((key, self._session_reads_per_key), (tenant, self._session_reads_per_tenant)):
                        await places.enter_async_context(self._readers.setdefault(name, asyncio.Semaphore(most)))
            except TimeoutError:
                raise TooManyRequests(
                    f"this {name[0]} has {most} requests in progress that read sessions, and they take long: "
                    "send one after the other",
                    SESSION_READ_WAIT_S * 1_000,
                ) from None
            yield

    @contextmanager
    def _counted(self, *names: tuple[str, str], count: int = 1) -> Iterator[None]:
        counts = dict.fromkeys(names, count)
        self._open.update(counts)
        try:
            yield
        finally:
            self._open.subtract(counts)
            for name in names:
                if not self._open[name]:
                    del self._open[name]

    async def _hit(self, item: RateLimitItem, kind: str, whose: str, excess: str, count: int = 1) -> None:
        if not await self._limiter.hit(item, kind, whose, cost=count):
            reset = (await self._limiter.get_window_stats(item, kind, whose)).reset_time
            raise TooManyRequests(excess, max(1, round((reset - time.time()) * 1_000)))
