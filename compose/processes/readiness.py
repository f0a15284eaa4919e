"""Readiness checks of a gateway, by name.

A check fails only for its own part: while Postgres does not answer, or not in time, the check of its schema passes,
because the revision is unknown.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress

from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest, GetSystemInfoRequest
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from purser.budget.errors import LedgerUnavailable
from purser.budget.postgres.connections.pools import Pool, reaching_ledger
from purser.compose.database import connected
from purser.compose.errors import TooManyConnections, Unreachable
from purser.compose.migrate import require_schema

TEMPORAL_WAIT_S = 1.0
SCHEMA_WAIT_S = 1.0
COMMIT_WAIT_S = 3
"""Seconds that a commit of Purser may wait for a synchronous standby; a role sees only waits of its own sessions."""
_CHANGES = """
select current_setting('transaction_read_only')::boolean as read_only, exists (
    select from pg_stat_activity
    where wait_event = 'SyncRep' and clock_timestamp() - query_start > make_interval(secs => $1)) as stuck
"""
POOL_WAIT_S = 1.0
"""Seconds to wait for a connection: a request that waits longer is not answered in time."""


def readiness(dsn: str, pool: Pool, client: Client) -> Mapping[str, Callable[[], Awaitable[object]]]:
    """Checks by name: `postgres` (accepts changes), `pool` (a free connection of this process that answers), `schema`,
    `temporal`, `namespace`."""

    async def postgres() -> None:
        # If it accepts no further connection, those of the pool still serve: every gateway would be taken out at once.
        with suppress(TooManyConnections):
            await changes_accepted()

    async def changes_accepted() -> None:
        async with connected(dsn) as connection:
            found = await connection.fetchrow(_CHANGES, COMMIT_WAIT_S)
            assert found is not None
            if found["read_only"]:
                raise Unreachable("Postgres is read-only")
            if found["stuck"]:
                raise Unreachable("commits wait for a synchronous standby that does not answer")

    async def free_connection() -> None:
        async with pool.acquire(timeout=POOL_WAIT_S) as own:
            try:
                async with asyncio.timeout(POOL_WAIT_S):
                    await own.execute("SELECT 1")
            except BaseException:
                own.terminate()  # the pool opens another one
                raise

    async def schema() -> None:
        with suppress(Unreachable, LedgerUnavailable), reaching_ledger():  # reported by `postgres`
            async with asyncio.timeout(SCHEMA_WAIT_S):
                await require_schema(dsn)

    async def namespace() -> None:
        named = DescribeNamespaceRequest(namespace=client.namespace)
        try:
            async with asyncio.timeout(TEMPORAL_WAIT_S):
                await client.workflow_service.describe_namespace(named)
        except RPCError as error:
            if error.status is RPCStatusCode.NOT_FOUND:
                raise
        except (TimeoutError, RuntimeError):  # RuntimeError: never connected; both are reported by `temporal`
            return

    return {
        "postgres": postgres,
        "pool": free_connection,
        "schema": schema,
        "temporal": lambda: client.workflow_service.get_system_info(GetSystemInfoRequest()),
        "namespace": namespace,
    }
