"""What one gateway serves over HTTP: holds and settlements in closed loops, and the highest rate of holds and reads.

Clients in another process send requests to a gateway process with its own Postgres: first in closed loops, then at a
rate that is searched and sustained while event streams are open, each of which must receive every change. The figures
are valid only if no request failed, no event was lost or duplicated, and the ledger agrees with what clients settled.
"""

import asyncio
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, field
from itertools import count
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from purser.benchmarks.background import background_process, background_processes
from purser.benchmarks.http import closed, search
from purser.benchmarks.http.load import CONNECTIONS, LoadResult, send_requests
from purser.benchmarks.http.mix import Target
from purser.benchmarks.http.streams import Compared, compare, listen
from purser.benchmarks.http.system import System, system
from purser.benchmarks.http.target import prepare, spent
from purser.benchmarks.outcome import Outcome, Table, gate_table, percentile_ms
from purser.benchmarks.progress import log_step
from purser.budget.postgres.audit.audit import audit
from purser.budget.postgres.connections.pools import create_pool
from purser.compose.signals import cancelled_once

SECONDS, STREAMS = 60.0, 200
STEP_S = 5.0
"""Maximum duration of one step: of the closed loops with some connections, or of the search."""
WARM_UP = 8
"""Connections of a step that is not shown."""
BOUND_MS = 100.0
"""Upper bound of the 99th percentile of requests."""
TRIES, BACK = 4, 0.85
"""A rate sustained for one step but not for the whole duration is reduced by this factor, up to so many tries."""
SEED = 7


@dataclass
class Session:
    """One gateway under load, and the totals of its clients."""

    system: System
    target: Target
    clients: ProcessPoolExecutor
    bound_ms: float
    settled: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    runs: Iterator[int] = field(default_factory=lambda: count(1))

    def send_requests(self, rate: float, seconds: float) -> LoadResult:
        """Sends requests at a rate from the client process, and adds up what was settled and what failed."""
        log_step(f"{rate:,.0f} requests a second for {seconds:.0f} s")
        run = next(self.runs)
        result = self.clients.submit(send_requests, self.target, f"r{run}", rate, seconds, SEED + run).result()
        self.settled += result.record.settled
        self.errors += result.record.errors
        return result

    def close_loops(self, connections: int, seconds: float) -> closed.Point:
        """Holds and settles on so many connections, each as fast as it is answered."""
        log_step(f"{connections} connections in closed loops")
        run, before = next(self.runs), self.system.cpu_seconds()
        result = self.clients.submit(
            closed.call_in_turns, self.target, f"c{run}", connections, seconds, SEED + run
        ).result()
        after = self.system.cpu_seconds()
        self.settled += result.record.settled
        self.errors += result.record.errors
        return closed.Point.of(connections, result, {name: after[name] - before[name] for name in after})

    def sustains(self, result: LoadResult) -> bool:
        """Whether all requests were answered within the bound."""
        late = result.requests > 0 and percentile_ms(result.record.all, 0.99) > self.bound_ms
        return not (result.gave_up or result.record.errors or late)

    def highest_sustained(self, rate: float, seconds: float) -> tuple[LoadResult, bool, dict[str, float]]:
        """The result at the highest rate, from `rate` down, that is sustained for `seconds`; whether there is one; and
        the processor seconds per second of each part."""
        for _ in range(TRIES):
            before = self.system.cpu_seconds()
            result = self.send_requests(rate, seconds)
            after = self.system.cpu_seconds()
            cores = {name: round((after[name] - before[name]) / result.seconds, 2) for name in after}
            if self.sustains(result):
                return result, True, cores
            rate *= BACK
        return result, False, cores


def run(data: Path | None, seconds: float = SECONDS, streams: int = STREAMS) -> Outcome:
    """Runs the benchmark.

    Args:
        data: not used.
        seconds: how long the found rate must be sustained.
        streams: number of event streams that are open meanwhile.
    """
    return asyncio.run(cancelled_once(measure(seconds, streams, min(STEP_S, seconds))))


async def measure(seconds: float, streams: int, step_s: float, bound: float = BOUND_MS) -> Outcome:
    """Searches in steps of `step_s` for the rate at which 99 % of requests take `bound` ms at most, and sustains it."""
    # One key opens all streams.
    most = str(streams)
    async with system(PURSER_STREAMS_PER_KEY=most, PURSER_STREAMS_PER_TENANT=most) as running:
        target = await asyncio.to_thread(prepare, running)
        with background_processes(1) as clients:
            session = Session(running, target, clients, bound)
            points = [
                await asyncio.to_thread(session.close_loops, connections, step_s)
                for connections in (WARM_UP, *closed.CONNECTIONS)
            ][1:]
            with background_process(listen, target, streams) as listeners:
                assert await asyncio.to_thread(listeners.recv) == "open"
                begun = await _last_event(running)
                rate, tried = await asyncio.to_thread(
                    search.highest, lambda rate: session.sustains(session.send_requests(rate, step_s))
                )
                result, sustained, cores = await asyncio.to_thread(
                    session.highest_sustained, rate or search.FIRST, seconds
                )
                compared = await _compared(running, listeners, begun)
        ledger = await check_ledger(running, target, session.settled)
    gate = {
        "no_errors": not session.errors,
        "every_event_seen_once": compared.complete and compared.events > 0,
        **ledger,
    }
    settings = {"seconds": seconds, "streams": streams, "bound_p99_ms": bound, "connections": CONNECTIONS, "seed": SEED}
    return _outcome(points, result, sustained, compared, gate, tried, cores, session.errors, settings)


def _outcome(
    points: list[closed.Point],
    result: LoadResult,
    sustained: bool,
    compared: Compared,
    gate: dict[str, bool],
    tried: list[search.Tried],
    cores: dict[str, float],
    errors: Counter[str],
    settings: dict[str, Any],
) -> Outcome:
    took = result.record.took
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
            "closed_loops": [asdict(point) for point in points],
            "requests_per_second": round(result.rate, 1),
            "sustained": sustained,
            "requests": result.requests,
            "operations": operations,
            "streams": asdict(compared),
            "gate": gate,
            "errors": dict(errors),
            "cores": cores,
            "gateway_cpu_ms_per_request": round(cores["gateway"] / result.rate * 1_000, 2),
            "search": [asdict(one) for one in tried],
        },
        settings=settings,
        tables=[
            closed.table(points),
            Table(
                f"{result.rate:,.0f} requests a second for {result.seconds:.0f} s, {compared.streams} streams open"
                + ("" if sustained else ": more than the machine sustained"),
                ("operation", "requests", "p50 ms", "p99 ms"),
                [(name, *operation.values()) for name, operation in operations.items()],
            ),
            Table(
                "streams of events",
                ("streams", "broken", "events", "lost", "doubled", "late p50 ms", "late p99 ms"),
                [(compared.streams, sum(compared.broken.values()), compared.events, compared.lost, compared.doubled,
                  compared.late_p50_ms, compared.late_p99_ms)],
            ),
            Table("processor cores taken", tuple(cores), [tuple(cores.values())]),
            gate_table(gate),
        ],
    )  # fmt: skip


async def check_ledger(running: System, target: Target, settled: Counter[str]) -> dict[str, bool]:
    """Whether the audit is clean, and balances agree with what the clients settled."""
    balances = await asyncio.to_thread(spent, running, target)
    async with await create_pool(running.dsn, size=1) as pool:
        clean = (await audit(pool)).ok
    return {"audit_clean": clean, "sums_agree": balances == {name: (settled[name], 0) for name in target.sessions}}


async def _last_event(running: System) -> int:
    async with await create_pool(running.dsn, size=1) as pool:
        return int(await pool.fetchval("select coalesce(max(event_id), 0) from events"))


async def _compared(running: System, listeners: "Connection[int, Any]", begun: int) -> Compared:
    """Compares the events that the streams received with the table of events."""
    async with await create_pool(running.dsn, size=1) as pool:
        # The gateway assigns positions shortly after the commit.
        while await pool.fetchval("select count(*) from events where position is null"):  # noqa: ASYNC110
            await asyncio.sleep(0.1)
        rows = await pool.fetch("select position, at from events where event_id > $1 order by position", begun)
    expected = [(row["position"], row["at"].timestamp()) for row in rows]
    await asyncio.to_thread(listeners.send, expected[-1][0] if expected else 0)
    return compare(await asyncio.to_thread(listeners.recv), expected)
