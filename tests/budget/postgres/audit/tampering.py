"""A ledger that is made once for many tests, and what the audit finds once somebody went round it."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, nullcontext
from unittest.mock import patch

from purser.budget.postgres.audit import audit
from purser.budget.postgres.connections.pools import Pool, create_pool
from tests.support.databases import fresh_database


@asynccontextmanager
async def made(server: str, template: str, make: Callable[[Pool], Awaitable[None]]) -> AsyncIterator[Pool]:
    """A database of its own with what `make` writes, which the audit finds sound."""
    async with fresh_database(server, template) as dsn, await create_pool(dsn) as pool:
        await make(pool)
        found = await audit.audit(pool)
        assert found.ok, found.differences
        yield pool


async def tamper(pool: Pool, sql: str, *checks: str) -> set[str]:
    """Those of these checks of the audit that find a difference after `sql` went round the ledger; then it is undone.

    The audit reads by the connection that made the changes: making the ledger again would take far longer.
    """
    some = {check: what for check, what in audit._CHECKS.items() if check in checks}
    async with pool.acquire() as own:
        transaction = own.transaction(isolation="repeatable_read")  # that of the audit
        await transaction.start()
        try:
            await own.execute("set local session_replication_role = replica")
            await own.execute(sql)
            with (
                patch.object(audit, "_CHECKS", some),  # all of them would take most of a test's time
                patch.object(audit, "connected", lambda pool, connection: nullcontext(own)),
            ):
                found = await audit.audit(pool)
        finally:
            await transaction.rollback()
    json.dumps(found.to_json())
    return {str(difference["check"]) for difference in found.differences}
