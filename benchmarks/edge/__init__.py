"""How long an honest client waits while others burden the same gateway.

Each burden is opened at once and kept, while one client reads, and holds and settles, again and again. What is over a
limit has to be refused, and the honest client gets every answer that it asked for.
"""

import asyncio
import time
from collections.abc import Awaitable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from typing import Any

import aiohttp

from purser.benchmarks.beside import beside
from purser.benchmarks.edge.burdens import Answers, Burden, Kind, press
from purser.benchmarks.http import books
from purser.benchmarks.http.mix import Clients, Record
from purser.benchmarks.http.stage import furnish
from purser.benchmarks.http.system import System, system
from purser.benchmarks.outcome import Outcome, Table, percentile_ms
from purser.budget.actors import Actor
from purser.budget.postgres.connections.pools import create_pool
from purser.gateway.access.roles import Role
from purser.gateway.postgres.keys import Keys

BOUND_MS = 250.0
"""99 of 100 reads, and of calls, have to be done within this time."""
LOOKS = 300
"""Reads of the honest client beside each burden, and as many calls."""
PAUSE_S = 0.01
"""Of the honest client between two of them."""
SEED = 7


@dataclass(frozen=True)
class Sizes:
    """How much there is of each burden."""

    silent: int = 1_000
    streams: int = 2_000
    bodies: int = 16
    looks: int = LOOKS
    tenants: int = 4
    keys: int = 10
    """Of each tenant."""


@dataclass(frozen=True)
class Felt:
    """What the honest client met beside a burden."""

    burden: str
    answers: Answers
    """To the burden."""
    looks: Sequence[float]
    """Seconds of every read."""
    calls: Sequence[float]
    """Seconds of every hold, start of an attempt and settlement together."""

    @property
    def bearable(self) -> bool:
        """Whether the client was served in time."""
        return max(percentile_ms(took, 0.99) for took in (self.looks, self.calls)) <= BOUND_MS

    def figures(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "burden": self.burden,
            "answers": dict(self.answers),
            **{
                name: {
                    "count": len(took),
                    "p50_ms": percentile_ms(took, 0.50),
                    "p99_ms": percentile_ms(took, 0.99),
                    "max_ms": round(max(took) * 1_000, 2),
                }
                for name, took in (("reads", self.looks), ("calls", self.calls))
            },
        }


def run(data: Path | None) -> Outcome:
    """Measures; `data` is not needed."""
    return asyncio.run(measure(Sizes()))


async def measure(sizes: Sizes) -> Outcome:
    """What one honest client meets beside burdens of these sizes."""
    async with system() as running:
        stage = await asyncio.to_thread(furnish, running)
        record = Record()
        async with aiohttp.ClientSession(
            running.url, headers={"Authorization": f"Bearer {running.key}"}, timeout=aiohttp.ClientTimeout(60)
        ) as http:
            honest = Clients(http, stage, record, "honest", Random(SEED))
            burdens = await _burdens(running, sizes)
            felt = [await _felt(running.url, honest, burden, sizes.looks) for burden in burdens]
        gate = {f"{one.burden}: p99 within {BOUND_MS:.0f} ms": one.bearable for one in felt}
        gate |= await books(running, stage, record.settled)
    return _outcome(felt, gate, sizes)


async def _burdens(running: System, sizes: Sizes) -> list[Burden]:
    async with await create_pool(running.dsn, size=1) as pool:
        keys = Keys(pool)
        one = (await keys.create("greedy", "one", Role.AGENT, by=Actor("bench", None))).secret
        several = [
            (await keys.create(f"tenant{tenant}", f"key{number}", Role.AGENT, by=Actor("bench", None))).secret
            for tenant in range(sizes.tenants)
            for number in range(sizes.keys)
        ]
    return [
        Burden("nothing", Kind.SILENT, 0),
        Burden("silent connections", Kind.SILENT, sizes.silent),
        Burden("streams of one key", Kind.STREAM, sizes.streams, (one,)),
        Burden("streams of several tenants", Kind.STREAM, sizes.streams, tuple(several)),
        Burden("bodies of 15 MB of one key", Kind.BODY, sizes.bodies, (one,)),
    ]


async def _felt(url: str, honest: Clients, burden: Burden, least: int) -> Felt:
    """What the client meets until the burden is answered, for as many reads and calls as that takes."""
    looks: list[float] = []
    calls: list[float] = []
    with beside(press, url, burden) as parent:
        answered = asyncio.create_task(asyncio.to_thread(parent.recv))
        while len(looks) < least or not answered.done():
            looks.append(await _took(honest.look(0)))
            calls.append(await _took(honest.call(0)))
            await asyncio.sleep(PAUSE_S)
        return Felt(burden.name, await answered, looks, calls)


async def _took(work: Awaitable[None]) -> float:
    begun = time.perf_counter()
    await work
    return time.perf_counter() - begun


def _outcome(felt: Sequence[Felt], gate: dict[str, bool], sizes: Sizes) -> Outcome:
    found = [one.figures() for one in felt]
    return Outcome(
        gate_passed=all(gate.values()),
        results={"burdens": found, "gate": gate},
        settings={"bound_p99_ms": BOUND_MS, "seed": SEED, **asdict(sizes)},
        tables=[
            Table(
                "an honest client beside a burden",
                (
                    "burden",
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
                    (one["burden"], _told(one["answers"]), *one["reads"].values(), *list(one["calls"].values())[1:])
                    for one in found
                ],
            ),
            Table("gate", ("what", "holds"), [(name, "yes" if holds else "no") for name, holds in gate.items()]),
        ],
    )


def _told(answers: dict[str, int]) -> str:
    return ", ".join(f"{count:,} {status}" for status, count in sorted(answers.items()))
