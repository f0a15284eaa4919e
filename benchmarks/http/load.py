"""Open-loop load: clients that send requests at a fixed rate whatever the answers are, in a separate process.

Requests arrive as from independent clients: at random moments, with a given average rate. The latency of a request that
waits for a connection or its turn counts from when it was due, so that a slow gateway cannot hide delays by slowing its
clients down (coordinated omission).
"""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from random import Random

import uvloop

from purser.benchmarks.http.connections import open_connections
from purser.benchmarks.http.mix import REQUESTS_PER_OPERATION, Clients, Operation, Record, Target, draw

CONNECTIONS = 64
MAX_OPEN = 1_000
"""Open operations at which the clients give up on a rate."""


@dataclass(frozen=True)
class LoadResult:
    """The result of one run of the clients."""

    record: Record
    requests: int
    seconds: float
    """Duration from start to the last answer."""
    gave_up: bool
    """Whether the clients gave up because answers fell too far behind."""

    @property
    def rate(self) -> float:
        """Answered requests per second."""
        return self.requests / self.seconds


def send_requests(target: Target, name: str, rate: float, seconds: float, seed: int) -> LoadResult:
    """Sends `rate` requests per second, and returns when all are answered. Entry point of a client process."""
    return uvloop.run(_send_requests(target, name, rate, seconds, seed))


@asynccontextmanager
async def clients_of(
    target: Target, record: Record, name: str, random: Random, connections: int = CONNECTIONS
) -> AsyncIterator[Clients]:
    """Clients that share some connections to the gateway."""
    async with open_connections(target.url, target.key, connections) as http:
        yield Clients(http, target, record, name, random)


async def _send_requests(target: Target, name: str, rate: float, seconds: float, seed: int) -> LoadResult:
    record = Record()
    async with clients_of(target, record, name, Random(seed)) as clients:
        begun = time.perf_counter()
        gave_up = await _start_operations(clients, rate / REQUESTS_PER_OPERATION, seconds)
        elapsed = time.perf_counter() - begun
    return LoadResult(record, sum(len(took) for took in record.took.values()), max(elapsed, seconds), gave_up)


async def _start_operations(clients: Clients, operations_per_second: float, seconds: float) -> bool:
    due = time.perf_counter()
    deadline = due + seconds
    operation: Operation = clients.set_budget  # so that the streams have an event to report, however short the run is
    async with asyncio.TaskGroup() as open_operations:
        under_way: set[asyncio.Task[None]] = set()
        while (due := due + clients.random.expovariate(operations_per_second)) < deadline:
            if (pause := due - time.perf_counter()) > 0:
                await asyncio.sleep(pause)
            if len(under_way) >= MAX_OPEN:
                return True
            one = open_operations.create_task(clients.tried(operation, due))
            under_way.add(one)
            one.add_done_callback(under_way.discard)
            operation = draw(clients)
    return False
