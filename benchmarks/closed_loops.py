"""Closed loops: callers, each of which calls again as soon as it has its answer."""

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass, field

from purser.benchmarks.outcome import percentile_ms


@dataclass
class Measured:
    """The calls of some callers."""

    took: list[float] = field(default_factory=list)
    """Seconds of every call."""
    answers: Counter[Hashable] = field(default_factory=Counter)
    """Calls by the answer that they had."""
    seconds: float = 0

    @property
    def rate(self) -> float:
        """Calls per second."""
        return len(self.took) / self.seconds

    def p50_ms(self) -> float:
        """The median."""
        return percentile_ms(self.took, 0.50)

    def p99_ms(self) -> float:
        """The 99th percentile."""
        return percentile_ms(self.took, 0.99)


async def call_in_loops(call: Callable[[], Awaitable[Hashable]], *, callers: int, seconds: float) -> Measured:
    """Lets some callers call for some seconds; each makes at least one call.

    Args:
        call: makes one call and returns its answer.
        callers: number of loops.
        seconds: after which no further call begins.
    """
    found = Measured()
    begun = time.perf_counter()

    async def loop() -> None:
        while True:
            at = time.perf_counter()
            found.answers[await call()] += 1
            found.took.append(time.perf_counter() - at)
            if time.perf_counter() >= begun + seconds:
                return

    await asyncio.gather(*(loop() for _ in range(callers)))
    found.seconds = time.perf_counter() - begun
    return found
