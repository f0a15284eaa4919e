"""Reaching Postgres: pools, what counts as unreachable, and what is tried again."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import asyncpg

from purser.budget.errors import BeyondCounting, LedgerUnavailable
from purser.budget.postgres.connections import pgbouncer as pooled
from purser.budget.postgres.connections.reset import KeptConnection

T = TypeVar("T")
if TYPE_CHECKING:
    Pool: TypeAlias = asyncpg.Pool[asyncpg.Record]
    Connection: TypeAlias = asyncpg.Connection[asyncpg.Record] | asyncpg.pool.PoolConnectionProxy[asyncpg.Record]
else:  # generic only in the stubs
    Pool, Connection = asyncpg.Pool, asyncpg.Connection

_UNREACHABLE = (
    OSError,
    TimeoutError,
    asyncpg.PostgresConnectionError,
    asyncpg.InterfaceError,
    asyncpg.OperatorInterventionError,
    asyncpg.InsufficientResourcesError,
    asyncpg.LockNotAvailableError,
    asyncpg.QueryCanceledError,
)
_CONTENTION = (asyncpg.DeadlockDetectedError, asyncpg.SerializationError)
_TRIES = 4


class Json(str):
    """JSON that is written already, as it is stored."""

    __slots__ = ()


def _as_json(value: object) -> str:
    return value if isinstance(value, Json) else json.dumps(value)


async def _prepare(connection: Connection) -> None:
    for name in ("json", "jsonb"):
        await connection.set_type_codec(name, encoder=_as_json, decoder=json.loads, schema="pg_catalog")


async def create_pool(dsn: str, *, size: int = 10, lock_timeout_ms: int | None = None, timeout_s: float = 10) -> Pool:
    """Opens a pool whose connections read and write JSON as Python values.

    Args:
        dsn: where Postgres is; with `pgbouncer=true` behind a pooler that keeps no session.
        size: connections at most.
        lock_timeout_ms: give up on a lock after this long; `None` waits.
        timeout_s: seconds for one statement.

    Raises:
        LedgerUnavailable: Postgres did not answer.
    """
    settings = {"application_name": "purser"}
    if lock_timeout_ms is not None:
        settings["lock_timeout"] = str(lock_timeout_ms)
    with reaching_ledger():
        return await asyncpg.create_pool(
            min_size=1,
            max_size=size,
            init=_prepare,
            command_timeout=timeout_s,
            timeout=timeout_s,
            **{"connection_class": KeptConnection} | pooled.arguments(dsn, settings),
        )


@contextmanager
def reaching_ledger() -> Iterator[None]:
    """Turns every way in which Postgres can be away into `LedgerUnavailable`."""
    try:
        yield
    except _UNREACHABLE as error:
        raise LedgerUnavailable(
            f"the ledger did not answer ({type(error).__name__}): nothing was admitted; check Postgres and try again"
        ) from error


@contextmanager
def _counting() -> Iterator[None]:
    """Turns sums that leave the range of a balance into `BeyondCounting`."""
    try:
        yield
    except asyncpg.NumericValueOutOfRangeError as error:
        raise BeyondCounting(
            "a balance of the path cannot count that much more: report what the call really cost, or use other scopes"
        ) from error


@asynccontextmanager
async def connected(pool: Pool, connection: Connection | None) -> AsyncIterator[Connection]:
    """The caller's connection, so that it can share its transaction, or one from the pool."""
    with reaching_ledger(), _counting():
        if connection is not None:
            yield connection
            return
        async with pool.acquire() as own:
            yield own


async def retrying(step: Callable[[], Awaitable[T]]) -> T:
    """Runs a whole transaction again when Postgres picked it to break a deadlock.

    Raises:
        LedgerUnavailable: it was picked every time.
    """
    for again in range(_TRIES):
        try:
            return await step()
        except _CONTENTION:
            await asyncio.sleep(0.01 * 2**again)
    raise LedgerUnavailable(f"the ledger gave up after {_TRIES} deadlocks in a row: nothing was admitted; try again")


def row(record: asyncpg.Record | None) -> asyncpg.Record:
    """The row of a statement that always returns one."""
    assert record is not None
    return record
