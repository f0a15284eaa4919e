"""Audits on demand: in the background, one at a time, with the last result available."""

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime
from time import monotonic

import structlog

from purser.budget.errors import LedgerUnavailable
from purser.budget.postgres.connections.pools import Pool
from purser.budget.postgres.reports.audit import Audit, audit

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of an audit."""

    check: str
    """Name of the current check."""
    done: int
    of: int
    began_at: datetime


@dataclass(frozen=True, slots=True)
class AuditRun:
    """An audit that has ended."""

    ended_at: datetime
    seconds: float
    by: str
    """Name of the key that started it."""
    found: Audit | None
    """Its result; `None` if it failed."""
    error: str = ""
    """Type of the error with which it failed."""


class Audits:
    """Audits of one process. A request during an audit joins it."""

    def __init__(self, pool: Pool) -> None:
        """Args:
        pool: one of its connections is in use during an audit.
        """
        self._pool = pool
        self._running: asyncio.Task[None] | None = None
        self.progress: Progress | None = None
        """Progress of the running audit; `None` if there is none."""
        self.last: AuditRun | None = None
        """The last audit of this process."""
        self.changed = asyncio.Event()
        """Set, and replaced, on every change of `progress`."""

    def start(self, by: str) -> None:
        """Starts an audit, unless one is running."""
        if self.progress is None:
            self._update(Progress("", 0, 0, datetime.now(UTC)))
            self._running = asyncio.create_task(self._run(by))

    async def stop(self) -> None:
        """Cancels a running audit."""
        if self._running is not None:
            self._running.cancel()
            await asyncio.wait((self._running,))

    async def _run(self, by: str) -> None:
        began, began_at = monotonic(), datetime.now(UTC)
        found, error = None, ""

        def on_check(check: str, done: int, of: int) -> None:
            self._update(Progress(check, done, of, began_at))

        try:
            found = await audit(self._pool, on_check)
        except LedgerUnavailable:
            error = "LedgerUnavailable"
        except Exception as failed:
            error = type(failed).__name__
            _log.exception("an audit failed")
        finally:
            self.last = AuditRun(
                datetime.now(UTC), monotonic() - began, by, found, error or ("" if found else "stopped")
            )
            self._update(None)

    def _update(self, progress: Progress | None) -> None:
        self.progress = progress
        self.changed.set()
        self.changed = asyncio.Event()
