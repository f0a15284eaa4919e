"""Audits on demand and when they are due: in the background, one at a time, with the last result stored."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from time import monotonic

import structlog

from purser.activities.runtime.background import in_background
from purser.budget.errors import BudgetError, LedgerUnavailable
from purser.budget.postgres.audit.audit import audit
from purser.budget.postgres.audit.results import LEASE, AuditResults, AuditRun
from purser.budget.postgres.connections.pools import Pool

SCHEDULE = "purser"
"""Who starts the audits that are due."""
_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of an audit."""

    check: str
    """Name of the current check."""
    done: int
    of: int
    began_at: datetime


class Audits:
    """Audits of one process, and the last result of any. A request during an audit joins it."""

    def __init__(self, pool: Pool) -> None:
        """Args:
        pool: one of its connections is in use during an audit.
        """
        self._pool = pool
        self._results = AuditResults(pool)
        self._running: asyncio.Task[None] | None = None
        self.progress: Progress | None = None
        """Progress of the running audit; `None` if there is none."""
        self.last: AuditRun | None = None
        """The last audit, as of the last `refresh`."""
        self.changed = asyncio.Event()
        """Set, and replaced, on every change of `progress`."""

    def start(self, by: str) -> None:
        """Starts an audit, unless one is running."""
        if self.progress is None:
            self._update(Progress("", 0, 0, datetime.now(UTC)))
            self._running = asyncio.create_task(self._run(by))

    async def start_due(self, every: timedelta) -> None:
        """Starts an audit if the last one of any process ended this long ago and no process runs one."""
        if self.progress is None and await self._results.claim(every):
            self.start(SCHEDULE)

    async def refresh(self) -> None:
        """Reads the last result, which may be that of another process. Only a failure is not stored."""
        stored = await self._results.last()
        failed = self.last if self.last is not None and self.last.error else None
        if stored is not None and (failed is None or stored.ended_at > failed.ended_at):
            self.last = stored

    async def stop(self) -> None:
        """Cancels a running audit."""
        if self._running is not None:
            self._running.cancel()
            await asyncio.wait((self._running,))

    async def _run(self, by: str) -> None:
        began, began_at = monotonic(), datetime.now(UTC)

        def on_check(check: str, done: int, of: int) -> None:
            self._update(Progress(check, done, of, began_at))

        error = "stopped"
        try:
            async with in_background(self._renew()):
                found = await audit(self._pool, on_check)
            run = AuditRun.of(found, monotonic() - began, by)
            await self._results.store(run)
            self.last, error = run, ""
        except LedgerUnavailable:
            error = "LedgerUnavailable"
        except Exception as failed:
            error = type(failed).__name__
            _log.exception("an audit failed")
        finally:
            if error:
                self.last = AuditRun(datetime.now(UTC), monotonic() - began, by, {}, 0, (), error)
            self._update(None)

    async def _renew(self) -> None:
        while True:
            await asyncio.sleep(LEASE.total_seconds() / 3)
            with suppress(BudgetError):
                await self._results.renew()

    def _update(self, progress: Progress | None) -> None:
        self.progress = progress
        self.changed.set()
        self.changed = asyncio.Event()
