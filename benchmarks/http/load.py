"""Clients that ask at a fixed rate whatever the answers do, in a process of their own.

Requests come as independent clients send them: at random moments, so many a second on average. A request that has to
wait for a connection or for its turn is late since the moment when it was due, so that a slow gateway cannot hide by
slowing its clients down.
"""

import asyncio
import time
from dataclasses import dataclass
from random import Random

import aiohttp

from purser.benchmarks.http.mix import REQUESTS_AN_OPERATION, Clients, Operation, Record, Stage, Wrong, draw

CONNECTIONS = 64
MAX_OPEN = 1_000
"""Operations under way at which a rate counts as beyond reach."""
PATIENCE_S = 30


@dataclass(frozen=True)
class Driven:
    """What a run of clients came to."""

    record: Record
    requests: int
    seconds: float
    """From the first to the last answer."""
    beyond: bool
    """Whether the clients gave up, because answers fell behind for good."""

    @property
    def rate(self) -> float:
        """Answered requests a second."""
        return self.requests / self.seconds


def drive(stage: Stage, name: str, rate: float, seconds: float, seed: int) -> Driven:
    """Asks `rate` times a second, and returns when everything is answered. The entry of a client process."""
    return asyncio.run(_drive(stage, name, rate, seconds, seed))


async def _drive(stage: Stage, name: str, rate: float, seconds: float, seed: int) -> Driven:
    record = Record()
    async with aiohttp.ClientSession(
        stage.url,
        connector=aiohttp.TCPConnector(limit=CONNECTIONS),
        headers={"Authorization": f"Bearer {stage.key}"},
        timeout=aiohttp.ClientTimeout(PATIENCE_S),
    ) as http:
        clients = Clients(http, stage, record, name, Random(seed))
        begun = time.perf_counter()
        beyond = await _send(clients, rate / REQUESTS_AN_OPERATION, seconds)
        elapsed = time.perf_counter() - begun
    return Driven(record, sum(len(took) for took in record.took.values()), max(elapsed, seconds), beyond)


async def _send(clients: Clients, operations_a_second: float, seconds: float) -> bool:
    due = time.perf_counter()
    deadline = due + seconds
    async with asyncio.TaskGroup() as open_operations:
        under_way: set[asyncio.Task[None]] = set()
        while (due := due + clients.random.expovariate(operations_a_second)) < deadline:
            if (pause := due - time.perf_counter()) > 0:
                await asyncio.sleep(pause)
            if len(under_way) >= MAX_OPEN:
                return True
            one = open_operations.create_task(_counted(draw(clients), due, clients.record))
            under_way.add(one)
            one.add_done_callback(under_way.discard)
    return False


async def _counted(operation: Operation, due: float, record: Record) -> None:
    try:
        await operation(due)
    except (Wrong, aiohttp.ClientError, TimeoutError) as error:
        record.errors[str(error) if isinstance(error, Wrong) else type(error).__name__] += 1
