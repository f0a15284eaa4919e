"""Hold and settle pairs per second on one shared session, durable, and the latency of a hold among concurrent callers.

It starts its own Postgres, measures, and audits the ledger after every run: figures of a ledger that does not add up
are worthless. Unbatched means that every caller has its own ledger object, so that no requests share a batch.
"""

import asyncio
import time
from dataclasses import asdict, astuple, dataclass, fields
from pathlib import Path as FilePath

from purser.benchmarks.outcome import Outcome, Table, percentile_ms
from purser.benchmarks.postgres import temporary_postgres
from purser.budget.actors import Actor
from purser.budget.gate import Amount
from purser.budget.holds import HoldRequest, Report
from purser.budget.policies import Mode, PolicyPatch
from purser.budget.postgres.connections.pools import Pool, create_pool
from purser.budget.postgres.ledger.ledger import Ledger
from purser.budget.postgres.ledger.policies import Policies
from purser.budget.postgres.ledger.settings import LedgerSettings
from purser.budget.postgres.reports.audit import audit
from purser.budget.scopes import Kind, Path, Scope
from purser.budget.usage import Usage

TENANT = "bench"
ASK, USED = Amount(1_000, 5_000), 800
UNBATCHED = (1, 8, 32)
BATCHED = (50, 200)
SECONDS = 5.0


@dataclass(frozen=True)
class Run:
    """Figures of one run."""

    callers: int
    batched: bool
    connections: int
    pairs: int
    pairs_per_second: float
    hold_p50_ms: float
    hold_p99_ms: float
    gate_passed: bool


async def measure(dsn: str, callers: int, seconds: float, *, batched: bool, connections: int) -> Run:
    """Runs `callers` loops of hold and settle on one new session for `seconds`, then audits."""
    session = f"s{callers}-{'batched' if batched else 'alone'}-{time.time_ns()}"
    settings = LedgerSettings()
    async with await create_pool(dsn, size=connections) as pool:
        limit = PolicyPatch(limit_tokens=10**12, mode=Mode.HARD)
        await Policies(pool, settings).set(TENANT, Scope(Kind.SESSION, session), limit, by=Actor("bench", None))
        shared = Ledger(pool, settings)
        ledgers = [shared if batched else Ledger(pool, settings) for _ in range(callers)]
        begun = time.perf_counter()
        deadline = begun + seconds
        loops = [_caller(ledger, session, number, deadline) for number, ledger in enumerate(ledgers)]
        took = [duration for durations in await asyncio.gather(*loops) for duration in durations]
        elapsed = time.perf_counter() - begun
        return Run(
            callers=callers,
            batched=batched,
            connections=connections,
            pairs=len(took),
            pairs_per_second=round(len(took) / elapsed, 1),
            hold_p50_ms=percentile_ms(took, 0.50),
            hold_p99_ms=percentile_ms(took, 0.99),
            gate_passed=await _gate(pool, session, len(took)),
        )


async def _caller(ledger: Ledger, session: str, number: int, deadline: float) -> list[float]:
    path = Path.parse([f"session:{session}", f"task:{session}", f"agent:{session}/a"])
    took: list[float] = []
    while (begun := time.perf_counter()) < deadline:
        answer = await ledger.hold(TENANT, HoldRequest(f"{session}/{number}/{len(took)}", path, ASK))
        took.append(time.perf_counter() - begun)
        assert answer.hold_id is not None
        await ledger.settle(TENANT, answer.hold_id, 1, Report(Usage(input=USED), USED))
    return took


async def _gate(pool: Pool, session: str, pairs: int) -> bool:
    budget = await Policies(pool, LedgerSettings()).budget(TENANT, Scope(Kind.SESSION, session))
    return (await audit(pool)).ok and budget.spent.tokens == pairs * USED and budget.held == Amount()


def run(data: FilePath | None, seconds: float = SECONDS) -> Outcome:
    """Runs the benchmark.

    Args:
        data: not used.
        seconds: duration of each run.
    """
    runs = asyncio.run(_runs(seconds))
    best = max(run.pairs_per_second for run in runs if not run.batched)
    gain = round(runs[-1].pairs_per_second / best, 1)
    columns = [field.name.replace("_", " ") for field in fields(Run)]
    return Outcome(
        gate_passed=all(run.gate_passed for run in runs),
        results={"runs": [asdict(run) for run in runs], "batched_over_best_unbatched": gain},
        settings={"seconds": seconds, "scopes": 3},
        tables=[
            Table(f"hold + settle, batched {gain} times the best unbatched", columns, [astuple(run) for run in runs])
        ],
    )


async def _runs(seconds: float) -> list[Run]:
    async with temporary_postgres() as dsn:
        runs = [await measure(dsn, callers, seconds, batched=False, connections=callers) for callers in UNBATCHED]
        return [*runs, *[await measure(dsn, callers, seconds, batched=True, connections=8) for callers in BATCHED]]
