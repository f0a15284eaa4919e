"""Hold and settle pairs per second on shared sessions, durable, and the latency of a hold among concurrent callers.

It starts its own Postgres, measures, and audits the ledger after every run: figures of a ledger that does not add up
are worthless. Unbatched means that every caller has its own ledger object, so that no requests share a batch. Plain
pairs of one caller take turns with pairs that carry a label and three more periods on the session, and with pairs whose
labels have no policy. Other runs have one refused call in ten, which counts as a pair, and one in ten that uses more
than it holds. The bare batch (`bare_batch.py`) is the least that has to be written, and takes turns with plain pairs:
the limit of what batches can reach. With many sessions, which take turns, no balance is shared by all callers: what
that gains is the most that slices of a hot balance could. Processor time is that of this process and of Postgres'
backends: on a busy machine it tells more than durations do.
"""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import asdict, astuple, dataclass, field, fields
from enum import StrEnum
from pathlib import Path as FilePath

from purser.benchmarks.ledger.bare_batch import BareLedger
from purser.benchmarks.outcome import Outcome, Table, percentile_ms
from purser.benchmarks.postgres import temporary_postgres
from purser.benchmarks.processor_time import processor_times
from purser.benchmarks.progress import log_step
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
from purser.compose.signals import cancelled_once

TENANT = "bench"
ASK, USED, OVERRUN = Amount(1_000, 5_000), 800, 1_200
TEAM = Scope(Kind.TAG, "team=bench")
UNBATCHED = (1, 8, 32)
BATCHED = (50, 200)
SESSIONS = (10, 1_000)
"""Numbers of sessions, besides one, over which the callers of the largest batches are spread."""
SECONDS = 5.0
ROUNDS = 10
"""Rounds in which loads that are compared take turns."""
WARM_S, WARM_SESSION_S = 0.5, 0.003
"""Duration of a first round that does not count, in all and for each session: Postgres plans its statements in it, and
the scopes of sessions are created."""


class Load(StrEnum):
    """What the callers do."""

    PLAIN = "plain"
    UNLIMITED = "labels without a policy"
    LIMITS = "a label and three periods"
    MIXED = "10 % refused, 10 % overrun"
    BARE = "bare batch"


LABELS = {
    Load.UNLIMITED: (Scope(Kind.TAG, "team=free"), Scope(Kind.TAG, "project=free")),
    Load.LIMITS: (TEAM,),
}


@dataclass(frozen=True)
class Run:
    """Figures of one run."""

    load: str
    callers: int
    sessions: int
    batched: bool
    connections: int
    pairs: int
    pairs_per_second: float
    hold_p50_ms: float
    hold_p99_ms: float
    cpu_us: int
    """Processor time of a pair."""
    gate_passed: bool


@dataclass
class _Work:
    """What the callers of one load have done in the rounds that count."""

    load: Load
    sessions: Sequence[str]
    took: list[float] = field(default_factory=list)
    """Durations of their asks."""
    elapsed_s: float = 0
    busy_s: float = 0
    used: int = 0
    """Tokens, those of the first round included."""
    paths: list[list[Path]] = field(init=False)
    """Of each session its own path, and one that is full."""

    def __post_init__(self) -> None:
        self.paths = [
            [
                Path.parse([f"session:{name}", f"task:{session}", f"agent:{session}/a"])
                for name in (session, f"{session}-full")
            ]
            for session in self.sessions
        ]


async def measure(
    dsn: str,
    callers: int,
    seconds: float,
    *,
    batched: bool,
    connections: int,
    loads: Sequence[Load] = (Load.PLAIN,),
    sessions: int = 1,
    rounds: int = 1,
) -> list[Run]:
    """Runs `callers` loops of hold and settle on new sessions for each load, then audits.

    Args:
        dsn: a migrated database.
        callers: number of loops.
        seconds: duration of each load.
        batched: whether the callers share a ledger object.
        connections: to Postgres.
        loads: what the callers do; several take turns, so that whatever else the machine does slows all of them.
        sessions: number of sessions of each load, over which the calls of a caller are spread.
        rounds: number of turns of each load.
    """
    log_step(f"{callers} callers, {'batched' if batched else 'not batched'}, {sessions:,} sessions: {', '.join(loads)}")
    settings = LedgerSettings()
    async with await create_pool(dsn, size=connections) as pool:
        shared, bare = Ledger(pool, settings), BareLedger(pool)
        ledgers = [shared if batched else Ledger(pool, settings) for _ in range(callers)]
        works = [
            _Work(load, [f"s{callers}-{load.name.lower()}-{time.time_ns()}-{number}" for number in range(sessions)])
            for load in loads
        ]
        for work in works:
            await (bare.prepare() if work.load is Load.BARE else _set_limits(pool, work))
        for turn in range(rounds + 1):
            for work in works:
                many = [bare] * callers if work.load is Load.BARE else ledgers
                await _round(pool, many, work, turn, seconds / rounds if turn else WARM_S + WARM_SESSION_S * sessions)
        clean = (await audit(pool)).ok
        return [
            Run(
                load=work.load,
                callers=callers,
                sessions=sessions,
                batched=batched,
                connections=connections,
                pairs=len(work.took),
                pairs_per_second=round(len(work.took) / work.elapsed_s, 1),
                hold_p50_ms=percentile_ms(work.took, 0.50),
                hold_p99_ms=percentile_ms(work.took, 0.99),
                cpu_us=round(work.busy_s / len(work.took) * 1_000_000),
                gate_passed=await (_adds_up(bare, work) if work.load is Load.BARE else _is_exact(pool, work)) and clean,
            )
            for work in works
        ]


async def _round(pool: Pool, ledgers: Sequence[Ledger | BareLedger], work: _Work, turn: int, seconds: float) -> None:
    before = await processor_times(pool)
    begun = time.perf_counter()
    loops = [
        _bare_caller(ledger, f"{turn}-{number}", begun + seconds)
        if isinstance(ledger, BareLedger)
        else _caller(ledger, work, f"{turn}-{number}", number, begun + seconds)
        for number, ledger in enumerate(ledgers)
    ]
    done = await asyncio.gather(*loops)
    work.used += sum(used for _, used in done)
    if turn:
        work.elapsed_s += time.perf_counter() - begun
        work.took += [duration for durations, _ in done for duration in durations]
        work.busy_s += sum(one - before.get(process, 0) for process, one in (await processor_times(pool)).items())


async def _set_limits(pool: Pool, work: _Work) -> None:
    for session in work.sessions:
        limited = [Scope(Kind.SESSION, session)]
        if work.load is Load.LIMITS:
            limited += [TEAM, *(Scope.parse(f"session:{session}@{period}") for period in ("hour", "day", "5h"))]
        for scope in limited:
            await _limit(pool, scope, 10**12)
        await _limit(pool, Scope(Kind.SESSION, f"{session}-full"), 1)


async def _limit(pool: Pool, scope: Scope, tokens: int) -> None:
    limit = PolicyPatch(limit_tokens=tokens, mode=Mode.HARD)
    await Policies(pool, LedgerSettings()).set(TENANT, scope, limit, by=Actor("bench", None))


async def _caller(ledger: Ledger, work: _Work, name: str, number: int, deadline: float) -> tuple[list[float], int]:
    """The durations of its asks, and the tokens that it used."""
    took: list[float] = []
    total = 0
    while (begun := time.perf_counter()) < deadline:
        turn = (number + len(took)) % 10 if work.load is Load.MIXED else 1
        path, full = work.paths[(number + len(took)) % len(work.paths)]
        key = f"{work.sessions[0]}/{name}/{len(took)}"
        request = HoldRequest(key, full if turn == 0 else path, ASK, labels=LABELS.get(work.load, ()))
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


async def _bare_caller(ledger: BareLedger, name: str, deadline: float) -> tuple[list[float], int]:
    """The durations of its holds, and the tokens that it used."""
    took: list[float] = []
    while time.perf_counter() < deadline:
        took.append(await ledger.pair(f"{name}/{len(took)}", ASK.tokens, USED))
    return took, USED * len(took)


async def _adds_up(ledger: BareLedger, work: _Work) -> bool:
    return await ledger.spent() == {(work.used, 0)}


async def _is_exact(pool: Pool, work: _Work) -> bool:
    scopes = [Scope(Kind.SESSION, session) for session in work.sessions]
    budgets = await Policies(pool, LedgerSettings()).budgets_of(TENANT, scopes)
    return sum(budget.spent.tokens for budget in budgets) == work.used and {one.held for one in budgets} == {Amount()}


def run(data: FilePath | None, seconds: float = SECONDS) -> Outcome:
    """Runs the benchmark.

    Args:
        data: not used.
        seconds: duration of each run.
    """
    runs = asyncio.run(cancelled_once(_runs(seconds)))
    plain = [run for run in runs if run.load == Load.PLAIN and run.sessions == 1]
    best = max(run.pairs_per_second for run in plain if not run.batched)
    gain = round(plain[-1].pairs_per_second / best, 1)
    bare = {run.callers: run.pairs_per_second for run in runs if run.load == Load.BARE}
    of_bare = {run.callers: round(run.pairs_per_second / bare[run.callers], 2) for run in plain if run.callers in bare}
    compared = {run.load: run for run in runs if run.callers == 1}
    times = {
        load: {
            figure: round(getattr(compared[load], figure) / getattr(compared[Load.PLAIN], figure), 2)
            for figure in ("hold_p50_ms", "cpu_us")
        }
        for load in (Load.UNLIMITED, Load.LIMITS)
    }
    columns = [field.name.replace("_", " ") for field in fields(Run)]
    return Outcome(
        gate_passed=all(run.gate_passed for run in runs),
        results={
            "runs": [asdict(run) for run in runs],
            "batched_over_best_unbatched": gain,
            "batched_over_bare_batch": of_bare,
            "times_plain": times,
        },
        settings={"seconds": seconds, "scopes": 3, "rounds": ROUNDS},
        tables=[
            Table(f"hold + settle, batched {gain} times the best unbatched", columns, [astuple(run) for run in runs]),
            Table(
                "Times plain, one caller",
                ["load", "hold p50", "cpu"],
                [(load, *(f"{one:.2f}" for one in figures.values())) for load, figures in times.items()],
            ),
        ],
    )


async def _runs(seconds: float) -> list[Run]:
    async with temporary_postgres() as dsn:
        compared = (Load.PLAIN, Load.UNLIMITED, Load.LIMITS)
        runs = await measure(dsn, 1, seconds, batched=False, connections=1, loads=compared, rounds=ROUNDS)
        for callers in UNBATCHED[1:]:
            runs += await measure(dsn, callers, seconds, batched=False, connections=callers)
        for callers in BATCHED:
            runs += await measure(dsn, callers, seconds, batched=True, connections=8, loads=(Load.MIXED,))
        for sessions in SESSIONS:
            runs += await measure(dsn, BATCHED[-1], seconds, batched=True, connections=8, sessions=sessions)
        # A database of its own for each, since the tables of the bare batch are there once.
    for callers in BATCHED:
        async with temporary_postgres() as dsn:
            both = (Load.BARE, Load.PLAIN)
            runs += await measure(dsn, callers, seconds, batched=True, connections=8, loads=both, rounds=ROUNDS // 2)
    return runs
