"""Ledger figures for metrics, read from the database: every process reports the same.

They contain no scope, tenant or task. Counts are grouped by kind, mode or state.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import asyncpg

from purser.budget.approvals import ApprovalState
from purser.budget.gate import Amount
from purser.budget.policies.fields import Mode
from purser.budget.postgres.connections.pools import Connection, Pool, affected, connected, row
from purser.budget.postgres.connections.queries import load
from purser.budget.postgres.ledger.settings import LedgerSettings
from purser.budget.scopes import Kind

_SQL = load("purser.budget.postgres.reports", "exporter.sql")
BANDS = ("under_80", "from_80", "from_95", "from_100")
"""Bands of budget usage by their lower bounds in percent: each ends where the next one begins."""
WAITED_S = (10.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1_200.0, 1_800.0, 3_600.0, 14_400.0)
"""Upper bounds, in seconds, of the histogram of approval waits."""
DEFAULT_IDLE = timedelta(minutes=30)
BATCH = 2_000
"""Rows that are marked in one transaction, for which calls on them wait."""
_LOCK = 0x646F726D


@dataclass(frozen=True, slots=True)
class Budgets:
    """Figures of the balances of one kind and mode."""

    scopes: Mapping[str, int]
    """Number of limited scopes in use in their current window, by band."""
    highest_ratio: float
    """Highest ratio of those scopes; 0 if there are none."""
    limit: Amount
    """Sum of the limits of those scopes, without grants."""
    spent: Amount
    """This and the following fields: sums over all balances, with past windows and what fell out of rolling ones."""
    held: Amount
    granted: Amount
    overrun: Amount
    """Never falls: what a late report or a rolling window takes back stays counted."""


@dataclass(frozen=True, slots=True)
class Queue:
    """Length and age of a queue."""

    count: int
    oldest_s: float
    """Age of the oldest item in seconds; 0 if the queue is empty."""


@dataclass(frozen=True, slots=True)
class Waits:
    """Histogram of the time that closed approval requests had waited."""

    counts: tuple[int, ...]
    """For each bound of `WAITED_S`, the number of requests that waited at most that long."""
    count: int
    sum_s: float


@dataclass(frozen=True, slots=True)
class LastAudit:
    """The last audit that ended."""

    age_s: float
    seconds: float
    """How long it took."""
    differences: int


@dataclass(frozen=True, slots=True)
class Figures:
    """All figures at one point in time, from one transaction."""

    budgets: Mapping[tuple[Kind, Mode], Budgets]
    holds: Queue
    """Open holds."""
    overdue_holds: int
    """Number of holds that are open past their lease and grace."""
    shadow_calls: Mapping[tuple[Kind, str], int]
    """Calls that policies would have held up while they only recorded, by outcome, since the ledger was created."""
    expired_holds: int
    """This and the next two fields: total since the ledger was created."""
    presumed_attempts: int
    late_reports: int
    waiting_asks: Queue
    """Asks that wait for open holds."""
    pending_approvals: Queue
    next_deadline_s: float | None
    """Seconds until the next pending approval expires; `None` if none is pending."""
    ended_approvals: Mapping[ApprovalState, Waits]
    outbox: Queue
    """Signals that have not reached their workflow."""
    audit: LastAudit | None
    """`None`: no audit has ended yet."""


class Exporter:
    """Reads the figures of all tenants."""

    def __init__(
        self, pool: Pool, settings: LedgerSettings, *, idle: timedelta = DEFAULT_IDLE, now: datetime | None = None
    ) -> None:
        """Args:
        pool: from `purser.budget.postgres.connections.pools.create_pool`.
        settings: defaults by kind, and the grace of holds.
        idle: how long the lifetime budget of a session, task or agent counts after its last entry.
        now: replaces the server's clock; for tests of windows.
        """
        self.pool = pool
        self._settings = settings
        self._idle = idle
        self.now = now

    async def figures(self, timeout_s: float) -> Figures:
        """Reads all figures except the drift; Postgres cancels a statement after `timeout_s` seconds.

        Raises:
            LedgerUnavailable: Postgres is unavailable or too slow.
        """
        async with connected(self.pool, None) as own, own.transaction(isolation="repeatable_read", readonly=True):
            await _limit(own, timeout_s)
            return await self._read(own)

    async def drift(self, timeout_s: float) -> int:
        """Counts balances that differ from their last entry; reads every balance.

        Raises:
            LedgerUnavailable: Postgres is unavailable or too slow.
        """
        async with connected(self.pool, None) as own, own.transaction(isolation="repeatable_read", readonly=True):
            await _limit(own, timeout_s)
            return int(await own.fetchval(_SQL["drift"], timeout=timeout_s))

    async def mark_dormant(self) -> int:
        """Marks what no longer changes, so that `figures` reads only the totals of it: balances that no longer count,
        their shadow counts, and approval requests that have ended. Returns how many rows.

        Any number of processes may call this at the same time: one does the work, the others return.

        Raises:
            LedgerUnavailable: Postgres is unavailable.
        """
        marked = 0
        for mark in (self._mark_balances, self._mark_shadow, self._count_ended):
            last = BATCH
            while last >= BATCH:
                last = await self._alone(mark)
                marked += last
        return marked

    async def _alone(self, mark: Callable[[Connection], Awaitable[int]]) -> int:
        async with connected(self.pool, None) as own, own.transaction():
            return await mark(own) if await own.fetchval(_SQL["lock"], _LOCK) else 0

    async def _mark_balances(self, own: Connection) -> int:
        marked = affected(await own.execute(_SQL["mark_dormant"], self._idle, self.now, BATCH))
        if marked < BATCH:
            await own.execute(_SQL["add_up_dormant"])
        return marked

    async def _mark_shadow(self, own: Connection) -> int:
        return int(await own.fetchval(_SQL["mark_shadow"], BATCH))

    async def _count_ended(self, own: Connection) -> int:
        return int(await own.fetchval(_SQL["count_ended"], BATCH, WAITED_S))

    async def _read(self, own: Connection) -> Figures:
        settings, now = self._settings, self.now
        budgets = await own.fetch(_SQL["budgets"], settings.defaults_json, self._idle, now)
        holds = row(await own.fetchrow(_SQL["holds"], timedelta(seconds=settings.grace_s), now))
        shadow = await own.fetch(_SQL["shadow_calls"])
        faults = {one["kind"]: one["count"] for one in await own.fetch(_SQL["faults"])}
        waiting = row(await own.fetchrow(_SQL["waiting"], settings.waiter_lapse, now))
        pending = row(await own.fetchrow(_SQL["pending_approvals"], now))
        ended = await own.fetch(_SQL["ended_approvals"], WAITED_S)
        outbox = row(await own.fetchrow(_SQL["outbox"], now))
        audit = await own.fetchrow(_SQL["audit"], now)
        return Figures(
            budgets={(Kind(one["kind"]), Mode(one["mode"])): _budgets(one) for one in budgets},
            holds=_queue(holds["open"], holds["oldest_s"]),
            overdue_holds=holds["overdue"],
            shadow_calls={(Kind(one["kind"]), one["outcome"]): one["calls"] for one in shadow},
            expired_holds=faults.get("expire", 0),
            presumed_attempts=faults.get("presumed", 0),
            late_reports=faults.get("late", 0),
            waiting_asks=_queue(waiting["asks"], waiting["oldest_s"]),
            pending_approvals=_queue(pending["pending"], pending["oldest_s"]),
            next_deadline_s=pending["deadline_s"],
            ended_approvals={
                ApprovalState(state): _waits([one for one in ended if one["state"] == state])
                for state in {one["state"] for one in ended}
            },
            outbox=_queue(outbox["pending"], outbox["oldest_s"]),
            audit=LastAudit(audit["age_s"], audit["seconds"], audit["differences"]) if audit else None,
        )


async def _limit(own: Connection, timeout_s: float) -> None:
    """Sets a timeout on the server: a client that gives up would leave the statement running."""
    await own.execute("select set_config('statement_timeout', $1, true)", str(round(timeout_s * 1_000)))


def _queue(count: int, oldest_s: float | None) -> Queue:
    return Queue(count, max(0.0, oldest_s or 0.0))


def _waits(found: Sequence[asyncpg.Record]) -> Waits:
    return Waits(
        counts=tuple(sum(one["requests"] for one in found if one["up_to_s"] <= bound) for bound in WAITED_S),
        count=sum(one["requests"] for one in found),
        sum_s=sum(one["waited_s"] for one in found),
    )


def _budgets(one: asyncpg.Record) -> Budgets:
    def amount(name: str) -> Amount:
        return Amount(int(one[f"{name}_tokens"]), int(one[f"{name}_nano"]))

    return Budgets(
        scopes={band: one[band] for band in BANDS},
        highest_ratio=one["highest_ratio"] or 0.0,
        limit=amount("limit"),
        spent=amount("spent"),
        held=amount("held"),
        granted=amount("granted"),
        overrun=amount("overrun"),
    )
