"""How often a key may call, and a stranger may guess. Counted in this process: what is protected is this gateway.

What may be spent is another matter: that stands in Postgres, and holds for all gateways together.
"""

import time

from limits import RateLimitItem, RateLimitItemPerMinute, RateLimitItemPerSecond
from limits.aio.storage import MemoryStorage
from limits.aio.strategies import SlidingWindowCounterRateLimiter

from gateway.errors import TooManyRequests
from gateway.roles import Principal

REQUESTS, FAILURES = "requests", "failures"


class Limits:
    """Counters of one process over sliding windows: constant room and work for each key and address."""

    def __init__(self, per_s: int, failures_per_min: int) -> None:
        """Args:
        per_s: requests a second of one key, where the key says nothing else; 0: any number.
        failures_per_min: wrong keys a minute from one address; 0: any number.
        """
        self._per_s = per_s
        self._failures_per_min = failures_per_min
        self._limiter = SlidingWindowCounterRateLimiter(MemoryStorage())

    async def request(self, caller: Principal) -> None:
        """Counts a request of a key; raises `TooManyRequests`."""
        per_s = caller.rate_limit_per_s or self._per_s
        if not per_s:
            return
        item = RateLimitItemPerSecond(per_s)
        if not await self._limiter.hit(item, REQUESTS, caller.key_id):
            raise TooManyRequests(
                f"this key has sent more than {per_s} requests in a second: wait as long as the answer says, "
                "or ask an admin for a key with another limit",
                await self._wait_ms(item, REQUESTS, caller.key_id),
            )

    async def failure(self, address: str) -> None:
        """Counts a key or link that is none, from `address`; raises `TooManyRequests`.

        Only failures are counted and only failures are refused: behind one proxy address a good key still opens.
        """
        if not self._failures_per_min:
            return
        item = RateLimitItemPerMinute(self._failures_per_min)
        if not await self._limiter.hit(item, FAILURES, address):
            raise TooManyRequests(
                f"this address has sent more than {self._failures_per_min} keys in a minute that are none: "
                "wait as long as the answer says, and correct the key",
                await self._wait_ms(item, FAILURES, address),
            )

    async def _wait_ms(self, item: RateLimitItem, *names: str) -> int:
        reset = (await self._limiter.get_window_stats(item, *names)).reset_time
        return max(1, round((reset - time.time()) * 1_000))
