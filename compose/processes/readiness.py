"""What has to answer before a gateway can serve, each part by its own name.

A part that is away is named, and what only lies behind it is not: without Postgres nobody can tell how old its schema
is.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress

from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest, GetSystemInfoRequest
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from purser.budget.postgres.connections.pools import Pool
from purser.compose.database import connected
from purser.compose.errors import Unreachable
from purser.compose.migrate import require_schema

TEMPORAL_WAIT_S = 1.0
POOL_WAIT_S = 1.0
"""A request that waits longer for a connection will not be answered in time."""


def readiness(dsn: str, pool: Pool, client: Client) -> Mapping[str, Callable[[], Awaitable[object]]]:
    """Checks by name: `postgres`, `pool` (a free connection of this process), `schema`, `temporal`, `namespace`."""

    async def postgres() -> None:
        async with connected(dsn) as connection:
            await connection.execute("SELECT 1")

    async def free_connection() -> None:
        async with pool.acquire(timeout=POOL_WAIT_S):
            pass

    async def schema() -> None:
        with suppress(Unreachable):  # told by `postgres`
            await require_schema(dsn)

    async def namespace() -> None:
        named = DescribeNamespaceRequest(namespace=client.namespace)
        try:
            async with asyncio.timeout(TEMPORAL_WAIT_S):
                await client.workflow_service.describe_namespace(named)
        except RPCError as error:
            if error.status is RPCStatusCode.NOT_FOUND:
                raise
        except (TimeoutError, RuntimeError):  # the second: there never was a connection; both told by `temporal`
            return

    return {
        "postgres": postgres,
        "pool": free_connection,
        "schema": schema,
        "temporal": lambda: client.workflow_service.get_system_info(GetSystemInfoRequest()),
        "namespace": namespace,
    }
