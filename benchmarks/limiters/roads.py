"""Callers of chat completions."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

import aiohttp

from purser.benchmarks.closed_loops import Measured, call_in_loops
from purser.benchmarks.limiters.load import CAP, MODEL, PROMPT_TEXT, Budget

WARM_UP = 5
"""Calls of each caller before it is measured."""
TIMEOUT_S = 60


@dataclass(frozen=True)
class Road:
    """An address that leads to the provider."""

    name: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    model: str = MODEL


Roads = Callable[[Budget], Awaitable[Road]]
"""Makes a budget, and returns the road under it."""


async def call_for(road: Road, *, callers: int, streams: bool, seconds: float) -> Measured:
    """Calls for some seconds, after a warm-up."""
    async with client_of(road) as http:

        async def call() -> int | str:
            try:
                return await call_once(http, streams, road.model)
            except aiohttp.ClientError as error:
                return type(error).__name__

        await asyncio.gather(*(call() for _ in range(callers) for _ in range(WARM_UP)))
        return await call_in_loops(call, callers=callers, seconds=seconds)


async def call_once(http: aiohttp.ClientSession, streams: bool, model: str = MODEL) -> int:
    """The status of one call."""
    messages = [{"role": "user", "content": PROMPT_TEXT}]
    body = {"model": model, "messages": messages, "max_tokens": CAP, "stream": streams}
    async with http.post("chat/completions", json=body) as answer:
        await answer.read()
        return answer.status


def client_of(road: Road) -> aiohttp.ClientSession:
    """Connections to a road, as many as there are callers."""
    timeout, connector = aiohttp.ClientTimeout(TIMEOUT_S), aiohttp.TCPConnector(limit=0)
    return aiohttp.ClientSession(f"{road.url}/", headers=dict(road.headers), timeout=timeout, connector=connector)
