"""Latency of a well-behaved client while others overload the same gateway.

All connections of a load are opened at once and stay open, while one client reads, holds and settles repeatedly. What
exceeds a limit must be refused, and every request of the well-behaved client must be answered.
"""

import asyncio
import time
from collections.abc import Awaitable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from typing import Any

import aiohttp

from purser.benchmarks.background import background_process
from purser.benchmarks.edge.loads import Answers, Kind, Load, run_load
from purser.benchmarks.http import check_ledger
from purser.benchmarks.http.mix import Clients, Record
from purser.benchmarks.http.system import System, system
from purser.benchmarks.http.target import prepare
from purser.benchmarks.outcome import Outcome, Table, percentile_ms
from purser.budget.actors import Actor
from purser.budget.postgres.connections.pools import create_pool
from purser.gateway.access.roles import Role
from purser.gateway.postgres.keys import Keys

BOUND_MS = 250.0
"""Upper bound of the 99th percentile of reads, and of calls."""
READS = 300
"""Minimum number of reads under each load, and of calls."""
PAUSE_S = 0.01
"""Pause between two rounds of the client."""
SEED = 7


@dataclass(frozen=True)
class Sizes:
    """Connections of each load, and the client's reads."""

    silent: int = 1_000
    streams: int = 2_000
    bodies: int = 16
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
    return asyncio.run(measure(Sizes()))


async def measure(sizes: Sizes) -> Outcome:
    """Measures one client under loads of these sizes."""
    async with system() as running:
        target = await asyncio.to_thread(prepare, running)
        record = Record()
        async with aiohttp.ClientSession(
            running.url, headers={"Authorization": f"Bearer {running.key}"}, timeout=aiohttp.ClientTimeout(60)
        ) as http:
            client = Clients(http, target, record, "honest", Random(SEED))
            measured = [await _measure(running.url, client, load, sizes.looks) for load in await _loads(running, sizes)]
        gate = {f"{one.load}: p99 within {BOUND_MS:.0f} ms": one.within_bound for one in measured}
        gate |= await check_ledger(running, target, record.settled)
    return _outcome(measured, gate, sizes)


async def _loads(running: System, sizes: Sizes) -> list[Load]:
    async with await create_pool(running.dsn, size=1) as pool:
        keys = Keys(pool)
        one = (await keys.create("greedy", "one", Role.AGENT, by=Actor("bench", None))).secret
        several = [
            (await keys.create(f"tenant{tenant}", f"key{number}", Role.AGENT, by=Actor("bench", None))).secret
            for tenant in range(sizes.tenants)
            for number in range(sizes.keys)
        ]
    return [
        Load("nothing", Kind.SILENT, 0),
        Load("silent connections", Kind.SILENT, sizes.silent),
        Load("streams of one key", Kind.STREAM, sizes.streams, (one,)),
        Load("streams of several tenants", Kind.STREAM, sizes.streams, tuple(several)),
        Load("bodies of 15 MB of one key", Kind.BODY, sizes.bodies, (one,)),
    ]


async def _measure(url: str, client: Clients, load: Load, least: int) -> Latencies:
    """Reads and calls at least `least` times, and until all of the load is answered."""
    reads: list[float] = []
    calls: list[float] = []
    with background_process(run_load, url, load) as parent:
        answered = asyncio.create_task(asyncio.to_thread(parent.recv))
        while len(reads) < least or not answered.done():
            reads.append(await _took(client.read(0)))
            calls.append(await _took(client.call(0)))
            await asyncio.sleep(PAUSE_S)
        return Latencies(load.name, await answered, reads, calls)


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
            Table("gate", ("what", "holds"), [(name, "yes" if holds else "no") for name, holds in gate.items()]),
        ],
    )


def _listed(answers: dict[str, int]) -> str:
    return ", ".join(f"{count:,} {status}" for status, count in sorted(answers.items()))
