"""Hold and settle pairs per second on one shared session, durable, and the latency of a hold among concurrent callers.

It starts its own Postgres, measures, and audits the ledger after every run: figures of a ledger that does not add up
are worthless. Unbatched means that every caller has its own ledger object, so that no requests share a batch. Beside
plain pairs it measures calls with a label and three more periods on the session, in rounds that alternate with plain
ones, and calls of which one in ten is refused, which counts as a pair, and one in ten uses more than it holds.
Processor time is that of this process and of Postgres' backends: on a busy machine it tells more than durations do.
"""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import asdict, astuple, dataclass, fields
from enum import StrEnum
from pathlib import Path as FilePath
from statistics import median

import psutil

from purser.benchmarks.outcome import Outcome, Table, percentile_ms
from purser.benchmarks.postgres import temporary_postgres
from purser.benchmarks.processor_time import processor_s
from purser.budget.actors import Actor
from purser.budget.gate import Amount
from purser.budget.holds import HoldRequest, Report
from purser.budget.policies.fields import Mode
from purser.budget.policies.policy import PolicyPatch
from purser.budget.postgres.audit.audit import audit
from purser.budget.postgres.connections.pools import Pool, create_pool
from purser.budget.postgres.ledger.ledger import Ledger
from purser.budget.postgres.ledger.policies import Policies
from purser.budget.postgres.ledger.settings import LedgerSettings
from purser.budget.scopes import Kind, Path, Scope
from purser.budget.usage import Usage

TENANT = "bench"
ASK, USED, OVERRUN = Amount(1_000, 5_000), 800, 1_200
TEAM = Scope(Kind.TAG, "team=bench")
UNBATCHED = (1, 8, 32)
BATCHED = (50, 200)
SECONDS = 5.0
ROUNDS = 5
"""Rounds of each load that alternate."""


class Load(StrEnum):
    """What the callers do."""

    PLAIN = "plain"
    LIMITS = "a label and three periods"
    MIXED = "10 % refused, 10 % overrun"


@dataclass(frozen=True)
class Run:
    """Figures of one run."""

    load: str
    callers: int
    batched: bool
    connections: int
    pairs: int
    pairs_per_second: float
    hold_p50_ms: float
    hold_p99_ms: float
    cpu_us: int
    """Processor time of a pair."""
    gate_passed: bool


async def measure(
    dsn: str, callers: int, seconds: float, *, batched: bool, connections: int, load: Load = Load.PLAIN
) -> Run:
    """Runs `callers` loops of hold and settle on one new session for `seconds`, then audits."""
    session = f"s{callers}-{'batched' if batched else 'alone'}-{time.time_ns()}"
    settings = LedgerSettings()
    async with await create_pool(dsn, size=connections) as pool:
        limited = [Scope(Kind.SESSION, session)]
        if load is Load.LIMITS:
            limited += [TEAM, *(Scope.parse(f"session:{session}@{period}") for period in ("hour", "day", "5h"))]
        for scope in limited:
            await _limit(pool, scope, 10**12)
        await _limit(pool, Scope(Kind.SESSION, f"{session}-full"), 1)
        shared = Ledger(pool, settings)
        ledgers = [shared if batched else Ledger(pool, settings) for _ in range(callers)]
        before = await _processor_times(pool)
        begun = time.perf_counter()
        deadline = begun + seconds
        loops = [_caller(ledger, session, number, deadline, load) for number, ledger in enumerate(ledgers)]
        done = await asyncio.gather(*loops)
        took = [duration for durations, _ in done for duration in durations]
        elapsed = time.perf_counter() - begun
        busy = sum(one - before.get(process, 0) for process, one in (await _processor_times(pool)).items())
        return Run(
            load=load,
            callers=callers,
            batched=batched,
            connections=connections,
            pairs=len(took),
            pairs_per_second=round(len(took) / elapsed, 1),
            hold_p50_ms=percentile_ms(took, 0.50),
            hold_p99_ms=percentile_ms(took, 0.99),
            cpu_us=round(busy / len(took) * 1_000_000),
            gate_passed=await _gate(pool, session, sum(used for _, used in done)),
        )


async def _processor_times(pool: Pool) -> dict[int, float]:
    """Seconds of processor time of this process and of the backends of the database, by process id."""
    found = await pool.fetch("select pid from pg_stat_activity where datname = current_database()")
    processes = [psutil.Process(), *(psutil.Process(row["pid"]) for row in found)]
    return {process.pid: processor_s(process) for process in processes}


async def _limit(pool: Pool, scope: Scope, tokens: int) -> None:
    limit = PolicyPatch(limit_tokens=tokens, mode=Mode.HARD)
    await Policies(pool, LedgerSettings()).set(TENANT, scope, limit, by=Actor("bench", None))


async def _caller(ledger: Ledger, session: str, number: int, deadline: float, load: Load) -> tuple[list[float], int]:
    """The durations of its asks, and the tokens that it used."""
    path, full = (
        Path.parse([f"session:{name}", f"task:{session}", f"agent:{session}/a"])
        for name in (session, f"{session}-full")
    )
    labels = (TEAM,) if load is Load.LIMITS else ()
    took: list[float] = []
    total = 0
    while (begun := time.perf_counter()) < deadline:
        turn = (number + len(took)) % 10 if load is Load.MIXED else 1
        request = HoldRequest(f"{session}/{number}/{len(took)}", full if turn == 0 else path, ASK, labels=labels)
        answer = await ledger.hold(TENANT, request)
        took.append(time.perf_counter() - begun)
        if turn == 0:
            assert answer.hold_id is None
            continue
        assert answer.hold_id is not None
        used = OVERRUN if turn == 5 else USED
        await ledger.settle(TENANT, answer.hold_id, 1, Report(Usage(input=used), used))
        total += used
    return took, total


async def _gate(pool: Pool, session: str, used: int) -> bool:
    budget = await Policies(pool, LedgerSettings()).budget(TENANT, Scope(Kind.SESSION, session))
    return (await audit(pool)).ok and budget.spent.tokens == used and budget.held == Amount()


def run(data: FilePath | None, seconds: float = SECONDS) -> Outcome:
    """Runs the benchmark.

    Args:
        data: not used.
        seconds: duration of each run.
    """
    runs = asyncio.run(_runs(seconds))
    plain = [run for run in runs if run.load == Load.PLAIN]
    best = max(run.pairs_per_second for run in plain if not run.batched)
    gain = round(plain[-1].pairs_per_second / best, 1)
    limits = {
        figure: round(_middle(runs, Load.LIMITS, figure) / _middle(runs, Load.PLAIN, figure), 2)
        for figure in ("hold_p50_ms", "cpu_us")
    }
    columns = [field.name.replace("_", " ") for field in fields(Run)]
    return Outcome(
        gate_passed=all(run.gate_passed for run in runs),
        results={
            "runs": [asdict(run) for run in runs],
            "batched_over_best_unbatched": gain,
            "limits_over_plain": limits,
        },
        settings={"seconds": seconds, "scopes": 3, "rounds": ROUNDS},
        tables=[
            Table(f"hold + settle, batched {gain} times the best unbatched", columns, [astuple(run) for run in runs]),
            Table("A label and three periods, times plain, one caller", ["figure", "times"], list(limits.items())),
        ],
    )


def _middle(runs: Sequence[Run], load: Load, figure: str) -> float:
    """The median of a figure over the rounds of a load with one caller."""
    return median(float(getattr(run, figure)) for run in runs if run.load == load and run.callers == 1)


async def _runs(seconds: float) -> list[Run]:
    async with temporary_postgres() as dsn:
        rounds = [(load, 1) for _ in range(ROUNDS) for load in (Load.PLAIN, Load.LIMITS)]
        alone = rounds + [(Load.PLAIN, callers) for callers in UNBATCHED if callers > 1]
        runs = [
            await measure(dsn, callers, seconds, batched=False, connections=callers, load=load)
            for load, callers in alone
        ]
        together = [(load, callers) for callers in BATCHED for load in (Load.MIXED, Load.PLAIN)]
        return runs + [
            await measure(dsn, callers, seconds, batched=True, connections=8, load=load) for load, callers in together
        ]
