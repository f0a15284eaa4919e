"""Closed-loop callers: each sends its next call as soon as the last one is answered."""

import asyncio
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

import aiohttp

from purser.benchmarks.outcome import percentile_ms

CAP = 50
"""Most output tokens of every call."""
WARM_UP = 5
"""Calls of each caller before it is measured."""
TIMEOUT_S = 60


@dataclass(frozen=True)
class Road:
    """An address that leads to the provider."""

    name: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass
class Measured:
    """The calls of some callers."""

    took: list[float] = field(default_factory=list)
    """Seconds of every answered call."""
    statuses: Counter[int] = field(default_factory=Counter)
    seconds: float = 0

    @property
    def rate(self) -> float:
        """Answered calls per second."""
        return len(self.took) / self.seconds

    def p50_ms(self) -> float:
        """The median."""
        return percentile_ms(self.took, 0.50)

    def p99_ms(self) -> float:
        """The 99th percentile."""
        return percentile_ms(self.took, 0.99)


async def call_for(road: Road, *, callers: int, streams: bool, seconds: float) -> Measured:
    """Calls for some seconds, after a warm-up."""
    found = Measured()
    async with _client(road) as http:
        await asyncio.gather(*(_call(http, streams) for _ in range(callers) for _ in range(WARM_UP)))
        begun = time.perf_counter()
        await asyncio.gather(*(_calls(http, streams, begun + seconds, found) for _ in range(callers)))
        found.seconds = time.perf_counter() - begun
    return found


async def call_often(road: Road, *, callers: int, calls: int) -> Counter[int]:
    """Statuses of a number of calls of each of some callers, all at once."""

    async def several() -> Counter[int]:
        return Counter([await _call(http, streams=False) for _ in range(calls)])

    async with _client(road) as http:
        return sum(await asyncio.gather(*(several() for _ in range(callers))), Counter())


async def _calls(http: aiohttp.ClientSession, streams: bool, until: float, found: Measured) -> None:
    while (begun := time.perf_counter()) < until:
        found.statuses[await _call(http, streams)] += 1
        found.took.append(time.perf_counter() - begun)


async def _call(http: aiohttp.ClientSession, streams: bool) -> int:
    body = {"model": "gpt-4o", "messages": [{"role": "user", "content": "hello"}], "max_tokens": CAP, "stream": streams}
    async with http.post("chat/completions", json=body) as answer:
        await answer.read()
        return answer.status


def _client(road: Road) -> aiohttp.ClientSession:
    timeout, connector = aiohttp.ClientTimeout(TIMEOUT_S), aiohttp.TCPConnector(limit=0)
    return aiohttp.ClientSession(f"{road.url}/", headers=dict(road.headers), timeout=timeout, connector=connector)
