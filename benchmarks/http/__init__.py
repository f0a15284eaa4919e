"""The highest rate of holds and reads that one gateway sustains over HTTP, with people and pages listening.

A gateway process with a Postgres of its own is asked by clients in another process, at a rate that is searched first
and then held. Meanwhile streams of events are open, each of which has to see every change. Figures count only if no
request failed, no event was lost or doubled, and the ledger says what the clients settled.
"""

import asyncio
import multiprocessing
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from itertools import count
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from purser.benchmarks.beside import beside
from purser.benchmarks.http import search
from purser.benchmarks.http.load import CONNECTIONS, Driven, drive
from purser.benchmarks.http.mix import Stage
from purser.benchmarks.http.stage import furnish, spent
from purser.benchmarks.http.streams import Compared, compare, listen
from purser.benchmarks.http.system import System, system
from purser.benchmarks.outcome import Outcome, Table, percentile_ms
from purser.budget.postgres.connections.pools import create_pool
from purser.budget.postgres.reports.audit import audit

SECONDS, STREAMS = 60.0, 200
STEP_S = 5.0
"""Of one step of the search, at most."""
BOUND_MS = 100.0
"""99 of 100 requests have to be answered within this time."""
TRIES, BACK = 4, 0.85
"""A rate that five seconds sustained and the whole time did not is tried again at this share."""
SEED = 7


@dataclass
class Session:
    """One gateway under load."""

    system: System
    stage: Stage
    clients: ProcessPoolExecutor
    bound_ms: float
    settled: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    runs: Iterator[int] = field(default_factory=lambda: count(1))

    def drive(self, rate: float, seconds: float) -> Driven:
        """Has the clients ask at a rate, and keeps account."""
        run = next(self.runs)
        driven = self.clients.submit(drive, self.stage, f"r{run}", rate, seconds, SEED + run).result()
        self.settled += driven.record.settled
        self.errors += driven.record.errors
        return driven

    def sustains(self, driven: Driven) -> bool:
        """Whether answers kept up."""
        late = driven.requests > 0 and percentile_ms(driven.record.all, 0.99) > self.bound_ms
        return not (driven.beyond or driven.record.errors or late)

    def held(self, rate: float, seconds: float) -> tuple[Driven, bool, dict[str, float]]:
        """The highest rate, from `rate` down, that the whole time sustains, and the processor time a second."""
        for _ in range(TRIES):
            before = self.system.cpu_seconds()
            driven = self.drive(rate, seconds)
            after = self.system.cpu_seconds()
            cores = {name: round((after[name] - before[name]) / driven.seconds, 2) for name in after}
            if self.sustains(driven):
                return driven, True, cores
            rate *= BACK
        return driven, False, cores


def run(data: Path | None, seconds: float = SECONDS, streams: int = STREAMS) -> Outcome:
    """Measures.

    Args:
        data: not needed.
        seconds: for which the found rate has to be sustained.
        streams: of events that are open meanwhile.
    """
    return asyncio.run(_run(seconds, streams, min(STEP_S, seconds), BOUND_MS))


async def _run(seconds: float, streams: int, step_s: float, bound: float) -> Outcome:
    async with system() as running:
        stage = await asyncio.to_thread(furnish, running)
        with beside(listen, stage, streams) as listeners, _clients() as clients:
            session = Session(running, stage, clients, bound)
            assert await asyncio.to_thread(listeners.recv) == "open"
            begun = await _last_event(running)
            rate, tried = await asyncio.to_thread(
                search.highest, lambda rate: session.sustains(session.drive(rate, step_s))
            )
            driven, sustained, cores = await asyncio.to_thread(session.held, rate or search.FIRST, seconds)
            compared = await _compared(running, listeners, begun)
        sums = await books(running, stage, session.settled)
    gate = {
        "no_errors": not session.errors,
        "every_event_seen_once": compared.complete and compared.events > 0,
        **sums,
    }
    settings = {"seconds": seconds, "streams": streams, "bound_p99_ms": bound, "connections": CONNECTIONS, "seed": SEED}
    return _outcome(driven, sustained, compared, gate, tried, cores, session.errors, settings)


def _outcome(
    driven: Driven,
    sustained: bool,
    compared: Compared,
    gate: dict[str, bool],
    tried: list[search.Tried],
    cores: dict[str, float],
    errors: Counter[str],
    settings: dict[str, Any],
) -> Outcome:
    took = driven.record.took
    operations = {
        name: {
            "requests": len(took[name]),
            **{f"p{share}_ms": percentile_ms(took[name], share / 100) for share in (50, 99)},
        }
        for name in sorted(took)
    }
    return Outcome(
        gate_passed=all(gate.values()),
        results={
            "requests_per_second": round(driven.rate, 1),
            "sustained": sustained,
            "requests": driven.requests,
            "operations": operations,
            "streams": asdict(compared),
            "gate": gate,
            "errors": dict(errors),
            "cores": cores,
            "gateway_cpu_ms_per_request": round(cores["gateway"] / driven.rate * 1_000, 2),
            "search": [asdict(one) for one in tried],
        },
        settings=settings,
        tables=[
            Table(
                f"{driven.rate:,.0f} requests a second for {driven.seconds:.0f} s, {compared.streams} streams open"
                + ("" if sustained else ": more than the machine sustained"),
                ("operation", "requests", "p50 ms", "p99 ms"),
                [(name, *operation.values()) for name, operation in operations.items()],
            ),
            Table(
                "streams of events",
                ("streams", "events", "lost", "doubled", "late p50 ms", "late p99 ms"),
                [(compared.streams, compared.events, compared.lost, compared.doubled,
                  compared.late_p50_ms, compared.late_p99_ms)],
            ),
            Table("processor cores taken", tuple(cores), [tuple(cores.values())]),
            Table("gate", ("what", "holds"), [(name, "yes" if holds else "no") for name, holds in gate.items()]),
        ],
    )  # fmt: skip


async def books(running: System, stage: Stage, settled: Counter[str]) -> dict[str, bool]:
    """Whether the ledger proves itself, and says what the clients settled."""
    told = await asyncio.to_thread(spent, running, stage)
    async with await create_pool(running.dsn, size=1) as pool:
        clean = (await audit(pool)).ok
    return {"audit_clean": clean, "sums_agree": told == {name: (settled[name], 0) for name in stage.sessions}}


async def _last_event(running: System) -> int:
    async with await create_pool(running.dsn, size=1) as pool:
        return int(await pool.fetchval("select coalesce(max(event_id), 0) from events"))


async def _compared(running: System, listeners: "Connection[int, Any]", begun: int) -> Compared:
    """What the streams saw beside what the table of events holds."""
    async with await create_pool(running.dsn, size=1) as pool:
        # The gateway's reader gives positions a moment after the commit.
        while await pool.fetchval("select count(*) from events where position is null"):  # noqa: ASYNC110
            await asyncio.sleep(0.1)
        rows = await pool.fetch("select position, at from events where event_id > $1 order by position", begun)
    expected = [(row["position"], row["at"].timestamp()) for row in rows]
    await asyncio.to_thread(listeners.send, expected[-1][0] if expected else 0)
    return compare(await asyncio.to_thread(listeners.recv), expected)


@contextmanager
def _clients() -> Iterator[ProcessPoolExecutor]:
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        yield pool
