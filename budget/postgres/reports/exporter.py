"""Figures for metrics, read from the rows that every process shares: whoever asks gets the same.

Nothing here names a scope, a tenant or a task. What is counted stands under a kind, a mode or a state.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

import asyncpg

from purser.budget.approvals import ApprovalState
from purser.budget.decisions import Amount
from purser.budget.policies import Mode
from purser.budget.postgres.connections.pools import Connection, Pool, connected, row
from purser.budget.postgres.connections.queries import load
from purser.budget.postgres.ledger.settings import LedgerSettings
from purser.budget.scopes import Kind

_SQL = load("purser.budget.postgres.reports", "exporter.sql")
BANDS = ("under_80", "from_80", "from_95", "from_100")
"""How much of a budget is used, in percent: each band ends where the next one begins."""
WAITED_S = (10.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1_200.0, 1_800.0, 3_600.0, 14_400.0)
"""Upper bounds, in seconds, by which the waits of approvals are told apart."""
DEFAULT_IDLE = timedelta(minutes=30)


@dataclass(frozen=True, slots=True)
class Budgets:
    """Balances of one kind and mode."""

    scopes: Mapping[str, int]
    """Limited scopes in use, by band, in their current window."""
    highest_ratio: float
    """Of those scopes; 0 without any."""
    spent: Amount
    """This and what follows: all balances together, of past windows too."""
    held: Amount
    granted: Amount
    overrun: Amount


@dataclass(frozen=True, slots=True)
class Queue:
    """Things that wait."""

    count: int
    oldest_s: float
    """Age of the oldest in seconds; 0 without any."""


@dataclass(frozen=True, slots=True)
class Waits:
    """How long ended approval requests had waited."""

    counts: tuple[int, ...]
    """How many waited at most each of `WAITED_S`."""
    count: int
    sum_s: float


@dataclass(frozen=True, slots=True)
class Figures:
    """Everything at one moment, in one transaction."""

    budgets: Mapping[tuple[Kind, Mode], Budgets]
    holds: Queue
    """Open holds."""
    overdue_holds: int
    """Open past their lease and grace."""
    expired_holds: int
    """This and the next two: since the ledger began."""
    presumed_attempts: int
    late_reports: int
    waiting_asks: Queue
    """Asks that wait for open holds of others."""
    pending_approvals: Queue
    next_deadline_s: float | None
    """Seconds until the first pending approval expires; `None` without any."""
    ended_approvals: Mapping[ApprovalState, Waits]
    outbox: Queue
    """Wake-ups that have not reached their workflow."""


class Exporter:
    """Reads figures of all tenants."""

    def __init__(
        self, pool: Pool, settings: LedgerSettings, *, idle: timedelta = DEFAULT_IDLE, now: datetime | None = None
    ) -> None:
        """Args:
        pool: from `purser.budget.postgres.create_pool`.
        settings: defaults by kind, and the grace of holds.
        idle: how long the lifetime budget of a session, task or agent counts after its last movement.
        now: stands for the server's clock; for tests of windows.
        """
        self.pool = pool
        self._settings = settings
        self._idle = idle
        self.now = now

    async def figures(self, timeout_s: float) -> Figures:
        """All figures but the drift; Postgres gives up after `timeout_s`.

        Raises:
            LedgerUnavailable: Postgres is away or too slow.
        """
        async with connected(self.pool, None) as own, own.transaction(isolation="repeatable_read", readonly=True):
            await _limit(own, timeout_s)
            return await self._read(own)

    async def drift(self, timeout_s: float) -> int:
        """How many balances are not what their last entry says; looks at every balance.

        Raises:
            LedgerUnavailable: Postgres is away or too slow.
        """
        async with connected(self.pool, None) as own, own.transaction(isolation="repeatable_read", readonly=True):
            await _limit(own, timeout_s)
            return int(await own.fetchval(_SQL["drift"]))

    async def _read(self, own: Connection) -> Figures:
        settings, now = self._settings, self.now
        budgets = await own.fetch(_SQL["budgets"], settings.defaults_json, self._idle, now)
        holds = row(await own.fetchrow(_SQL["holds"], timedelta(seconds=settings.grace_s), now))
        trouble = {one["kind"]: one["count"] for one in await own.fetch(_SQL["trouble"])}
        waiting = row(await own.fetchrow(_SQL["waiting"], settings.waiter_lapse, now))
        pending = row(await own.fetchrow(_SQL["pending_approvals"], now))
        ended = await own.fetch(_SQL["ended_approvals"], WAITED_S)
        outbox = row(await own.fetchrow(_SQL["outbox"], now))
        return Figures(
            budgets={(Kind(one["kind"]), Mode(one["mode"])): _budgets(one) for one in budgets},
            holds=_queue(holds["open"], holds["oldest_s"]),
            overdue_holds=holds["overdue"],
            expired_holds=trouble.get("expire", 0),
            presumed_attempts=trouble.get("presumed", 0),
            late_reports=trouble.get("late", 0),
            waiting_asks=_queue(waiting["asks"], waiting["oldest_s"]),
            pending_approvals=_queue(pending["pending"], pending["oldest_s"]),
            next_deadline_s=pending["deadline_s"],
            ended_approvals={
                ApprovalState(one["state"]): Waits(tuple(one["counts"]), one["count"], one["sum_s"]) for one in ended
            },
            outbox=_queue(outbox["pending"], outbox["oldest_s"]),
        )


async def _limit(own: Connection, timeout_s: float) -> None:
    """Postgres itself stops a statement that takes too long: a client that goes away would leave it running."""
    await own.execute("select set_config('statement_timeout', $1, true)", str(round(timeout_s * 1_000)))


def _queue(count: int, oldest_s: float | None) -> Queue:
    return Queue(count, max(0.0, oldest_s or 0.0))


def _budgets(one: asyncpg.Record) -> Budgets:
    def amount(name: str) -> Amount:
        return Amount(int(one[f"{name}_tokens"]), int(one[f"{name}_nano"]))

    return Budgets(
        scopes={band: one[band] for band in BANDS},
        highest_ratio=one["highest_ratio"] or 0.0,
        spent=amount("spent"),
        held=amount("held"),
        granted=amount("granted"),
        overrun=amount("overrun"),
    )
