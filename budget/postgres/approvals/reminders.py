"""Reminders and escalations of approval requests before their deadline: one event each, however many sweepers run."""

from datetime import datetime

from purser.budget.postgres.approvals.each import each
from purser.budget.postgres.approvals.requests import read_requests
from purser.budget.postgres.connections.pools import Pool, connected, fetch
from purser.budget.postgres.connections.queries import load
from purser.budget.postgres.ledger.settings import LedgerSettings

_SQL = load("purser.budget.postgres.approvals", "reminders.sql")
_APPROVALS = load("purser.budget.postgres.approvals", "approvals.sql")
REMINDED, ESCALATED = "reminded", "escalated"
"""Causes of the events of approvals."""


class Reminders:
    """Sends what is due for the pending requests of all tenants."""

    def __init__(self, pool: Pool, settings: LedgerSettings, now: datetime | None = None) -> None:
        """Args:
        pool: from `purser.budget.postgres.connections.pools.create_pool`.
        settings: defaults by kind.
        now: replaces the server's clock; for tests.
        """
        self._pool = pool
        self._settings = settings
        self.now = now

    async def send_due(self, limit: int = 100) -> int:
        """Reminds of requests and escalates them as their rules say; returns how many events it wrote.

        Any number of processes may call this at the same time.
        """
        due = await fetch(self._pool, _SQL["due"], limit, self.now)
        return await each(self._send, [(found["tenant"], found["approval_id"]) for found in due])

    async def _send(self, tenant: str, approval_id: str) -> int:
        async with connected(self._pool, None) as own, own.transaction():
            # The transaction that holds the lock decides the request, or the next sweep looks again.
            now = await own.fetchval(_APPROVALS["try_lock_request"], tenant, approval_id, self.now)
            if now is None:
                return 0
            defaults = self._settings.defaults_json
            [request] = await read_requests(own, defaults, self.now, tenant, [approval_id], waiters=False)
            if request.moot:
                return 0
            marked = await own.fetchrow(_SQL["mark"], tenant, approval_id, now)
            causes = [
                cause
                for cause, due in ((REMINDED, "remind"), (ESCALATED, "escalate"))
                if marked is not None and marked[due]
            ]
            for cause in causes:
                needed = request.decisions_needed(now)
                await own.execute(_APPROVALS["put_event"], tenant, approval_id, now, cause, None, needed, None)
            return len(causes)
