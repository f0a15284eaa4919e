"""Audits on demand: beside all requests, one at a time, and the last result kept."""

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
    """How far an audit has come."""

    check: str
    """Which one runs."""
    done: int
    of: int
    began_at: datetime


@dataclass(frozen=True, slots=True)
class AuditRun:
    """An audit that has ended."""

    ended_at: datetime
    seconds: float
    by: str
    """Name of the key that asked for it."""
    found: Audit | None
    """`None`: it failed."""
    error: str = ""
    """Type of what it failed with."""


class Audits:
    """Audits of one process. A second request joins the one that runs."""

    def __init__(self, pool: Pool) -> None:
        """Args:
        pool: one of its connections is busy during an audit.
        """
        self._pool = pool
        self._running: asyncio.Task[None] | None = None
        self.progress: Progress | None = None
        """Of the audit that runs, if one does."""
        self.last: AuditRun | None = None
        """Since this process began."""
        self.changed = asyncio.Event()
        """Set and replaced whenever there is news."""

    def start(self, by: str) -> None:
        """Begins an audit, unless one runs."""
        if self.progress is None:
            self._tell(Progress("", 0, 0, datetime.now(UTC)))
            self._running = asyncio.create_task(self._run(by))

    async def stop(self) -> None:
        """Ends an audit that runs."""
        if self._running is not None:
            self._running.cancel()
            await asyncio.wait((self._running,))

    async def _run(self, by: str) -> None:
        began, began_at = monotonic(), datetime.now(UTC)
        found, error = None, ""

        def tell(check: str, done: int, of: int) -> None:
            self._tell(Progress(check, done, of, began_at))

        try:
            found = await audit(self._pool, tell)
        except LedgerUnavailable:
            error = "LedgerUnavailable"
        except Exception as failed:
            error = type(failed).__name__
            _log.exception("an audit failed")
        finally:
            self.last = AuditRun(
                datetime.now(UTC), monotonic() - began, by, found, error or ("" if found else "stopped")
            )
            self._tell(None)

    def _tell(self, progress: Progress | None) -> None:
        self.progress = progress
        self.changed.set()
        self.changed = asyncio.Event()
