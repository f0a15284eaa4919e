"""The approval queue: requests in the order in which approvers handle them."""

from collections.abc import Sequence

from purser.budget.approvals import ApprovalRequest
from purser.budget.postgres.approvals.requests import read_requests
from purser.budget.postgres.connections.pools import Pool, connected, fetchval
from purser.budget.postgres.connections.queries import load
from purser.budget.postgres.ledger.settings import LedgerSettings

_SQL = load("purser.budget.postgres.approvals", "queue.sql")


class ApprovalQueue:
    """Pending requests by deadline, and closed requests by the time at which they ended."""

    def __init__(self, pool: Pool, settings: LedgerSettings) -> None:
        self._pool = pool
        self._settings = settings

    async def count(self, tenant: str) -> int:
        """Number of pending requests."""
        pending: int = await fetchval(self._pool, _SQL["count"], tenant)
        return pending

    async def pending(self, tenant: str, limit: int) -> Sequence[ApprovalRequest]:
        """At most `limit` pending requests, earliest deadline first."""
        return await self._read("pending", tenant, limit)

    async def decided(self, tenant: str, limit: int) -> Sequence[ApprovalRequest]:
        """At most `limit` closed requests (decided, expired or withdrawn), most recently ended first."""
        return await self._read("decided", tenant, limit)

    async def related(self, tenant: str, request: ApprovalRequest, limit: int) -> Sequence[ApprovalRequest]:
        """At most `limit` other pending requests whose calls draw on the same scope, earliest deadline first."""
        return await self._read("related", tenant, request.approval_id, str(request.scope), limit)

    async def _read(self, which: str, tenant: str, *given: object) -> Sequence[ApprovalRequest]:
        async with connected(self._pool, None) as own, own.transaction(isolation="repeatable_read", readonly=True):
            ids = [row["approval_id"] for row in await own.fetch(_SQL[which], tenant, *given)]
            found = await read_requests(own, self._settings.defaults_json, None, tenant, ids) if ids else []
        return sorted(found, key=lambda request: ids.index(request.approval_id))
