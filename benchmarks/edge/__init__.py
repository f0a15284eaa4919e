"""Latency of a well-behaved client while others overload the same gateway.

All connections of a load are opened at once, while one client reads, holds and settles repeatedly, as long as the load
lasts. What exceeds a limit must be refused, and every request of the well-behaved client must be answered. The last
load is on the worker in the gateway's process: providers answer its model calls with 200 MB each.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import asdict, dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random
from typing import Any

from purser.benchmarks.background import background_process
from purser.benchmarks.edge.loads import Answers, Kind, Load, run_load
from purser.benchmarks.edge.replies import ENDED, POLL_S, run_provider, run_tasks
from purser.benchmarks.http import check_ledger
from purser.benchmarks.http.connections import open_connections
from purser.benchmarks.http.mix import Clients, Record
from purser.benchmarks.http.system import System, system
from purser.benchmarks.http.target import prepare
from purser.benchmarks.outcome import Outcome, Table, gate_table, percentile_ms
from purser.benchmarks.progress import log_step
from purser.budget.actors import Actor
from purser.budget.postgres.connections.pools import create_pool
from purser.compose.settings.limits import Limits
from purser.compose.signals import cancelled_once
from purser.gateway.access.roles import Role
from purser.gateway.postgres.keys import Keys

BOUND_MS = 250.0
"""Upper bound of the 99th percentile of reads, and of calls."""
READS = 300
"""Minimum number of reads under each load, and of calls."""
PAUSE_S = 0.01
"""Pause between two rounds of the client."""
SEED = 7
QUIET = {"PURSER_LOG_LEVEL": "error", "PYTHONWARNINGS": "ignore"}
"""Settings of a worker whose model calls are expected to fail."""


@dataclass(frozen=True)
class Sizes:
    """Connections of each load, huge replies, and the client's reads."""

    silent: int = 1_000
    streams: int = 2_000
    bodies: int = 16
    replies: int = 12
    looks: int = READS
    tenants: int = 4
    keys: int = 10
    """Keys of each tenant."""


@dataclass(frozen=True)
class Latencies:
    """Latencies of the client under one load."""

    load: str
    answers: Answers
    """Answers to the connections of the load."""
    reads: Sequence[float]
    """Seconds of every read."""
    calls: Sequence[float]
    """Seconds of every call: hold, start of an attempt and settlement together."""

    @property
    def within_bound(self) -> bool:
        """Whether both 99th percentiles are within the bound."""
        return max(percentile_ms(took, 0.99) for took in (self.reads, self.calls)) <= BOUND_MS

    def figures(self) -> dict[str, Any]:
        """The figures as JSON."""
        return {
            "burden": self.load,
            "answers": dict(self.answers),
            **{
                name: {
                    "count": len(took),
                    "p50_ms": percentile_ms(took, 0.50),
                    "p99_ms": percentile_ms(took, 0.99),
                    "max_ms": round(max(took) * 1_000, 2),
                }
                for name, took in (("reads", self.reads), ("calls", self.calls))
            },
        }


def run(data: Path | None) -> Outcome:
    """Runs the benchmark; `data` is not used."""
    return asyncio.run(cancelled_once(measure(Sizes())))


async def measure(sizes: Sizes) -> Outcome:
    """Measures one client under loads of these sizes."""
    measured, gate = await _of_gateway(sizes)
    under_replies, its_gate = await _of_replies(sizes)
    measured.append(under_replies)
    for one in measured:
        gate[f"{one.load}: p99 within {BOUND_MS:.0f} ms"] = one.within_bound
    return _outcome(measured, gate | {name: gate.get(name, True) and held for name, held in its_gate.items()}, sizes)


async def _of_gateway(sizes: Sizes) -> tuple[list[Latencies], dict[str, bool]]:
    """The latencies under each load on a gateway, and whether it limits each and its ledger agrees."""
    async with system() as running, _client(running) as client:
        loads = await _loads(running, sizes)
        measured = [await _measure(load.name, client, sizes.looks, run_load, running.url, load) for load in loads]
        limited = {
            f"{load.name}: what exceeds a limit is refused": load.is_limited(one.answers)
            for load, one in zip(loads, measured, strict=True)
        }
        return measured, limited | await check_ledger(running, client.target, client.record.settled)


async def _of_replies(sizes: Sizes) -> tuple[Latencies, dict[str, bool]]:
    """The latencies while the worker in the gateway's process gets huge replies, and whether it refuses these and the
    ledger agrees."""
    with background_process(run_provider) as provider:
        port = await asyncio.to_thread(provider.recv)
        async with (
            system("up", PURSER_ALLOWED_API_BASES=f"http://127.0.0.1:{port}", **QUIET) as running,
            _client(running) as client,
        ):
            await _until_idle(client)
            name, arguments = "replies of 200 MB", (running.url, running.key, port, sizes.replies)
            measured = await _measure(name, client, sizes.looks, run_tasks, *arguments)
            refused = {f"{name}: each is refused": measured.answers.keys() == {"reply_too_large"}}
            return measured, refused | await check_ledger(running, client.target, client.record.settled)


async def _until_idle(client: Clients) -> None:
    """Waits until the worker has ended all tasks that were submitted for the reads."""
    for task in client.target.tasks:
        while (await client.request("one task", "GET", f"/v1/tasks/{task}"))["status"] not in ENDED:  # noqa: ASYNC110
            await asyncio.sleep(POLL_S)


@asynccontextmanager
async def _client(running: System) -> AsyncIterator[Clients]:
    """The well-behaved client, and what it reads and spends."""
    target = await asyncio.to_thread(prepare, running)
    async with open_connections(running.url, running.key, 1) as http:
        yield Clients(http, target, Record(), "honest", Random(SEED))


async def _loads(running: System, sizes: Sizes) -> list[Load]:
    async with await create_pool(running.dsn, size=1) as pool:
        keys = Keys(pool)
        one = (await keys.create("greedy", "one", Role.AGENT, by=Actor("bench", None))).secret
        several = [
            (await keys.create(f"tenant{tenant}", f"key{number}", Role.AGENT, by=Actor("bench", None))).secret
            for tenant in range(sizes.tenants)
            for number in range(sizes.keys)
        ]
    limits = Limits.model_construct()  # as the gateway's, whose environment has no settings of the user
    of_tenant = min(sizes.keys * limits.streams_per_key, limits.streams_per_tenant)
    return [
        Load("nothing", Kind.STREAM, 0),
        Load("silent connections", Kind.SILENT, sizes.silent),
        Load("streams of one key", Kind.STREAM, sizes.streams, (one,), limits.streams_per_key),
        Load("streams of several tenants", Kind.STREAM, sizes.streams, tuple(several), sizes.tenants * of_tenant),
        Load("bodies of 15 MB of one key", Kind.BODY, sizes.bodies, (one,)),
    ]


async def _measure(name: str, client: Clients, least: int, work: Callable[..., None], *arguments: object) -> Latencies:
    """Reads and calls at least `least` times while the background process `work` loads the gateway, and until it has
    sent its answers."""
    log_step(name)
    reads: list[float] = []
    calls: list[float] = []
    with background_process(work, *arguments) as load:
        with received(load) as begun:
            while not begun.done():
                await client.read(0)  # the gateway would cut a connection without a request
                await asyncio.sleep(PAUSE_S)
        with received(load) as answered:
            while not answered.done():
                reads.append(await _took(client.read(0)))
                calls.append(await _took(client.call(0)))
                if len(reads) == least:
                    load.send("enough")
                await asyncio.sleep(PAUSE_S)
            return Latencies(name, await answered, reads, calls)


@contextmanager
def received(load: "Connection[Any, Any]") -> Iterator["asyncio.Task[Any]"]:
    """The next message; after an interrupt nobody asks for it, or for why there is none."""
    message = asyncio.create_task(asyncio.to_thread(load.recv))
    try:
        yield message
    finally:
        message.cancel()


async def _took(work: Awaitable[None]) -> float:
    begun = time.perf_counter()
    await work
    return time.perf_counter() - begun


def _outcome(measured: Sequence[Latencies], gate: dict[str, bool], sizes: Sizes) -> Outcome:
    found = [one.figures() for one in measured]
    return Outcome(
        gate_passed=all(gate.values()),
        results={"burdens": found, "gate": gate},
        settings={"bound_p99_ms": BOUND_MS, "seed": SEED, **asdict(sizes)},
        tables=[
            Table(
                "a well-behaved client under load",
                (
                    "load",
                    "answers",
                    "reads",
                    "p50 ms",
                    "p99 ms",
                    "max ms",
                    "call p50 ms",
                    "call p99 ms",
                    "call max ms",
                ),
                [
                    (one["burden"], _listed(one["answers"]), *one["reads"].values(), *list(one["calls"].values())[1:])
                    for one in found
                ],
            ),
            gate_table(gate),
        ],
    )


def _listed(answers: dict[str, int]) -> str:
    return ", ".join(f"{count:,} {status}" for status, count in sorted(answers.items()))
