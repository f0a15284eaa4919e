"""Callers of chat completions."""

import asyncio
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

import aiohttp

from purser.benchmarks.closed_loops import Measured, call_in_loops

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


async def call_for(road: Road, *, callers: int, streams: bool, seconds: float) -> Measured:
    """Calls for some seconds, after a warm-up."""
    async with client_of(road) as http:
        await asyncio.gather(*(call_once(http, streams) for _ in range(callers) for _ in range(WARM_UP)))
        return await call_in_loops(lambda: call_once(http, streams), callers=callers, seconds=seconds)


async def call_often(road: Road, *, callers: int, calls: int) -> Counter[int]:
    """Statuses of a number of calls of each of some callers, all at once."""

    async def several() -> Counter[int]:
        return Counter([await call_once(http, streams=False) for _ in range(calls)])

    async with client_of(road) as http:
        return sum(await asyncio.gather(*(several() for _ in range(callers))), Counter())


async def call_once(http: aiohttp.ClientSession, streams: bool, model: str = "gpt-4o") -> int:
    """The status of one call."""
    body = {"model": model, "messages": [{"role": "user", "content": "hello"}], "max_tokens": CAP, "stream": streams}
    async with http.post("chat/completions", json=body) as answer:
        await answer.read()
        return answer.status


def client_of(road: Road) -> aiohttp.ClientSession:
    """Connections to a road, as many as there are callers."""
    timeout, connector = aiohttp.ClientTimeout(TIMEOUT_S), aiohttp.TCPConnector(limit=0)
    return aiohttp.ClientSession(f"{road.url}/", headers=dict(road.headers), timeout=timeout, connector=connector)
