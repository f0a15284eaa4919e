"""What a hold and its settlement cost as sessions, history, agents, processes and databases grow, and a forecast.

Fifty callers in closed loops. Each factor grows while the others stay at their first value, on a Postgres of its own. A
line through the processor times of each factor, over the logarithm of its values, is the sizing model. Sessions and
agents have been held on before they are measured: the first hold also creates their scopes. Databases divide the
tenants, and so the callers, as separate installations do. The figures are valid only if the balances of all sessions
are what the callers used, and the audit of each database is clean.
"""

import asyncio
import math
import multiprocessing
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass, replace
from itertools import count
from pathlib import Path as FilePath
from statistics import linear_regression
from typing import Any

from purser.benchmarks.background import background_processes
from purser.benchmarks.ledger import ASK, TENANT, USED
from purser.benchmarks.outcome import Outcome, Table, gate_table, percentile_ms
from purser.benchmarks.postgres import temporary_postgres
from purser.benchmarks.processor_time import processor_times
from purser.benchmarks.progress import log_step
from purser.budget.gate import Amount
from purser.budget.holds import HoldRequest, Report
from purser.budget.policies.policy import Policy
from purser.budget.postgres.audit.audit import audit
from purser.budget.postgres.connections.pools import create_pool
from purser.budget.postgres.ledger.ledger import Ledger
from purser.budget.postgres.ledger.policies import Policies
from purser.budget.postgres.ledger.settings import DEFAULT_LIMITS, LedgerSettings
from purser.budget.scopes import Kind, Path, Scope
from purser.budget.usage import Usage
from purser.compose.signals import cancelled_once

SECONDS = 5.0
CALLERS = 50
SETTINGS = LedgerSettings(
    defaults={kind: Policy(limit_tokens=10**12 if kind in DEFAULT_LIMITS else None) for kind in Kind}
)
"""Limits that nothing reaches, so that no warning costs anything."""
CONNECTIONS = 8
"""Of each process."""
FACTORS: dict[str, Sequence[int]] = {
    "sessions": (1, 10, 1_000),
    "history": (1, 5_000, 20_000),
    "agents": (1, 10, 100),
    "processes": (1, 2, 4),
    "databases": (1, 2),
}
"""Sessions, pairs that the ledger has already, agents of each session's task, processes of callers for each database,
and databases."""
WARM_S = 0.5
STARTS_IN_S, LINGERS_S = 2.0, 1.0
"""Pause in which every process connects, and in which its connections stay, so that one process sees those of all."""
TIMES = 100
"""The load that the model is asked about, in times the measured one."""


@dataclass(frozen=True)
class Shape:
    """What the callers hold on."""

    sessions: int = 1
    agents: int = 1
    """Of each session's task."""
    processes: int = 1
    """Of the callers of each database."""
    databases: int = 1
    """They divide the callers."""


@dataclass(frozen=True)
class Part:
    """What one process measured."""

    took: list[float]
    """Seconds of every hold."""
    seconds: float
    own_s: float
    """Processor time of the process."""
    postgres_s: float
    """Processor time of the backends of all processes."""


@dataclass(frozen=True)
class Line:
    """Figures of one shape."""

    factor: str
    value: int
    pairs: int
    pairs_per_s: float
    hold_p50_ms: float
    hold_p99_ms: float
    callers_us: int
    """Processor time of a pair in the processes of the callers."""
    postgres_us: int
    """Processor time of a pair in Postgres' backends."""


@dataclass(frozen=True)
class Fit:
    """Processor times of a pair: those of the first shape, and what each tenfold value of a factor adds."""

    callers_us: float
    postgres_us: float
    added: dict[str, tuple[float, float]]
    """Microseconds by factor, of callers and of Postgres."""

    def at(self, **times: float) -> tuple[float, float]:
        """Times of a pair, of callers and of Postgres, with factors so many times their first value. Never less than
        those of the first shape: a slope below zero is noise."""
        more = [(slopes, math.log10(times.get(factor, 1))) for factor, slopes in self.added.items()]
        callers, postgres = (sum(max(0.0, slopes[which]) * tens for slopes, tens in more) for which in (0, 1))
        return self.callers_us + callers, self.postgres_us + postgres


def run(data: FilePath | None, seconds: float = SECONDS) -> Outcome:
    """Runs the benchmark.

    Args:
        data: not used.
        seconds: of each shape.
    """
    return asyncio.run(cancelled_once(measure(seconds, FACTORS)))


async def measure(seconds: float, factors: Mapping[str, Sequence[int]]) -> Outcome:
    """Measures these values of each factor."""
    lines, gates = [], []
    most = max(*factors.get("processes", (1,)), *factors.get("databases", (1,)))
    with background_processes(most) as pool:
        for factor, values in factors.items():
            async with AsyncExitStack() as servers:
                dsns = [
                    await servers.enter_async_context(temporary_postgres())
                    for _ in range(max(values) if factor == "databases" else 1)
                ]
                databases = [_Database(pool, dsn) for dsn in dsns]
                for database in databases:
                    await database.measure(Shape(), WARM_S)
                lines += [await _measured(databases, factor, value, seconds) for value in values]
                gates += [await database.gate() for database in databases]
    return outcome_of(lines, {name: all(gate[name] for gate in gates) for name in gates[0]}, seconds)


async def _measured(databases: Sequence["_Database"], factor: str, value: int, seconds: float) -> "Line":
    """Measures one value of a factor; of the history, what there is if that is more."""
    log_step(f"{factor}: {value:,}")
    shape = Shape()
    if factor == "history":
        value = await databases[0].filled(value, seconds)
    else:
        shape = replace(shape, **{factor: value})
    used = databases[: shape.databases]
    return line_of(factor, value, await asyncio.gather(*(one.measure(shape, seconds) for one in used)))


class _Database:
    """A database, and the pairs that callers have made in it."""

    def __init__(self, processes: ProcessPoolExecutor, dsn: str) -> None:
        self._processes, self._dsn = processes, dsn
        self._sessions: list[str] = []
        self._runs = count()
        self._pairs = 0

    async def filled(self, pairs: int, seconds: float) -> int:
        """Holds and settles until there are so many pairs; returns how many there are."""
        while self._pairs < pairs:
            await self.measure(Shape(), seconds)
        return self._pairs

    async def measure(self, shape: Shape, seconds: float) -> list[Part]:
        """What each process measured on new sessions, once a pair has been made for every agent of each."""
        name = f"r{next(self._runs)}"
        self._sessions += [f"{name}-{number}" for number in range(shape.sessions)]
        await self._run(f"{name}-first", name, replace(shape, processes=1), shape.sessions * shape.agents, 0)
        return await self._run(name, name, shape, 0, seconds)

    async def _run(self, prefix: str, name: str, shape: Shape, least: int, seconds: float) -> list[Part]:
        begin, loop = time.time() + STARTS_IN_S, asyncio.get_running_loop()
        parts = await asyncio.gather(
            *(
                loop.run_in_executor(
                    self._processes, hold_and_settle,
                    self._dsn, f"{prefix}-{number}", name, shape, least, begin, seconds,
                )
                for number in range(shape.processes)
            )
        )  # fmt: skip
        self._pairs += _pairs(parts)
        return parts

    async def gate(self) -> dict[str, bool]:
        """Whether all that was measured is right."""
        async with await create_pool(self._dsn, size=1) as pool:
            policies = Policies(pool, SETTINGS)
            budgets = [await policies.budget(TENANT, Scope(Kind.SESSION, name)) for name in self._sessions]
            return {
                "balances are what the callers used": sum(one.spent.tokens for one in budgets) == self._pairs * USED
                and all(one.held == Amount() for one in budgets),
                "the ledger agrees with itself": (await audit(pool)).ok,
            }


def fit(lines: Sequence[Line]) -> Fit:
    """The sizing model of these figures: a line for each factor, over the logarithm of its values."""
    added: dict[str, tuple[float, float]] = {}
    first = list[Line]()
    for factor in dict.fromkeys(line.factor for line in lines):
        own = [line for line in lines if line.factor == factor]
        first.append(own[0])
        at = [math.log10(line.value) for line in own]
        callers, postgres = (linear_regression(at, [getattr(line, name) for line in own]).slope for name in _COSTS)
        added[factor] = (callers, postgres)
    callers_us, postgres_us = (sum(getattr(line, name) for line in first) / len(first) for name in _COSTS)
    return Fit(callers_us, postgres_us, added)


_COSTS = ("callers_us", "postgres_us")


def hold_and_settle(dsn: str, prefix: str, name: str, shape: Shape, least: int, begin: float, seconds: float) -> Part:
    """Holds and settles from a moment on. Entry point of a process.

    Args:
        dsn: a migrated database.
        prefix: of the keys of this process.
        name: of the sessions, which all processes share.
        shape: the callers are spread over its databases and their processes.
        least: pairs that are made in any case.
        begin: seconds since the epoch.
        seconds: duration.
    """
    return asyncio.run(_hold_and_settle(dsn, prefix, name, shape, least, begin, seconds))


async def _hold_and_settle(
    dsn: str, prefix: str, name: str, shape: Shape, least: int, begin: float, seconds: float
) -> Part:
    keys, took = count(), list[float]()
    async with await create_pool(dsn, size=CONNECTIONS) as pool:
        ledger = Ledger(pool, SETTINGS)
        await asyncio.sleep(max(0.0, begin - time.time()))
        before, begun = await processor_times(pool), time.perf_counter()

        async def caller() -> None:
            while (number := next(keys)) < least or time.perf_counter() < begun + seconds:
                at = time.perf_counter()
                held = await ledger.hold(TENANT, HoldRequest(f"{prefix}/{number}", _path(name, shape, number), ASK))
                took.append(time.perf_counter() - at)
                assert held.hold_id is not None
                await ledger.settle(TENANT, held.hold_id, 1, Report(Usage(input=USED), USED))

        callers = max(1, CALLERS // shape.processes // shape.databases)
        await asyncio.gather(*(caller() for _ in range(callers)))
        elapsed, spent = time.perf_counter() - begun, await processor_times(pool)
        await asyncio.sleep(LINGERS_S)
    busy = {process: one - before.get(process, 0) for process, one in spent.items()}
    own = busy.pop(multiprocessing.current_process().pid or 0)
    return Part(took, elapsed, own, sum(busy.values()))


def _path(name: str, shape: Shape, number: int) -> Path:
    session = f"{name}-{number % shape.sessions}"
    agent = number // shape.sessions % shape.agents
    return Path.parse([f"session:{session}", f"task:{session}", f"agent:{session}/a{agent}"])


def _pairs(parts: Sequence[Part]) -> int:
    return sum(len(part.took) for part in parts)


def line_of(factor: str, value: int, databases: Sequence[Sequence[Part]]) -> Line:
    """The figures of what the processes of each database measured, together."""
    parts = [part for own in databases for part in own]
    pairs, took = _pairs(parts), [one for part in parts for one in part.took]
    return Line(
        factor=factor,
        value=value,
        pairs=pairs,
        pairs_per_s=round(pairs / max(part.seconds for part in parts), 1),
        hold_p50_ms=percentile_ms(took, 0.50),
        hold_p99_ms=percentile_ms(took, 0.99),
        callers_us=round(sum(part.own_s for part in parts) / pairs * 1e6),
        postgres_us=round(sum(max(part.postgres_s for part in own) for own in databases) / pairs * 1e6),
    )


def outcome_of(lines: Sequence[Line], gate: dict[str, bool], seconds: float) -> Outcome:
    """The figures of these lines, their model, and what it says for a hundred times the load."""
    model = fit(lines)
    rate = max(line.pairs_per_s for line in lines)
    callers_us, postgres_us = model.at(**dict.fromkeys(("sessions", "agents", "history"), TIMES))
    cores = {
        name: round(TIMES * rate * one / 1e6, 1) for name, one in (("callers", callers_us), ("postgres", postgres_us))
    }
    predicted: dict[str, Any] = {
        "pairs_per_s": round(TIMES * rate), "callers_us": round(callers_us), "postgres_us": round(postgres_us),
        "cores_of_callers": cores["callers"], "cores_of_postgres": cores["postgres"],
    }  # fmt: skip
    added = [(factor, *(f"{one:+.0f}" for one in slopes)) for factor, slopes in model.added.items()]
    return Outcome(
        gate_passed=all(gate.values()),
        results={
            "lines": [asdict(line) for line in lines],
            "model": asdict(model),
            "predicted": predicted,
            "gate": gate,
        },
        settings={"seconds": seconds, "callers": CALLERS, "times": TIMES},
        tables=[
            Table(
                "hold + settle, one factor at a time",
                [name.replace("_", " ") for name in asdict(lines[0])],
                [tuple(asdict(line).values()) for line in lines],
            ),
            Table(
                f"model: {model.callers_us:.0f} + {model.postgres_us:.0f} µs a pair, and for each tenfold value",
                ("factor", "callers µs", "postgres µs"),
                added,
            ),
            Table(f"{TIMES} times {rate:,.0f} pairs/s", tuple(predicted), [tuple(predicted.values())]),
            gate_table(gate),
        ],
    )
