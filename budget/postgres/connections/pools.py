"""Connection pools: opening them, mapping connection errors, retrying transactions."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import asyncpg
from pydantic_core import from_json

from purser.budget.errors import BeyondCounting, LedgerUnavailable
from purser.budget.postgres.connections import pgbouncer as pooled
from purser.budget.postgres.connections.json_text import Json
from purser.budget.postgres.connections.reset import ResetAfterFailureConnection
from purser.budget.postgres.connections.waiting_pool import WaitingPool

T = TypeVar("T")
if TYPE_CHECKING:
    Pool: TypeAlias = asyncpg.Pool[asyncpg.Record]
    Connection: TypeAlias = asyncpg.Connection[asyncpg.Record] | asyncpg.pool.PoolConnectionProxy[asyncpg.Record]
else:  # these are generic only in the stubs
    Pool, Connection = asyncpg.Pool, asyncpg.Connection

_UNREACHABLE = (
    OSError,
    TimeoutError,
    asyncpg.PostgresConnectionError,
    asyncpg.InterfaceError,
    asyncpg.OperatorInterventionError,
    asyncpg.InsufficientResourcesError,
    asyncpg.PostgresIOError,
    asyncpg.LockNotAvailableError,
    asyncpg.QueryCanceledError,
    asyncpg.IdleInTransactionSessionTimeoutError,
    asyncpg.ReadOnlySQLTransactionError,  # a primary that has become a standby
    asyncpg.InternalClientError,  # a connection that has just been closed by the server
)
_CONTENTION = (asyncpg.DeadlockDetectedError, asyncpg.SerializationError)
_TRIES = 4
IDLE_S = 15
"""Seconds after which Postgres ends a transaction that waits for its client: a host that vanishes leaves its locks."""
ACQUIRE_S = 10.0
"""Seconds to wait for a connection of the pool."""
RELEASE_S = 1.0
"""Seconds to wait until a statement that was given up is cancelled. A Postgres that hangs cancels none: the connection
is closed instead."""


def _as_json(value: object) -> str:
    return value if isinstance(value, Json) else json.dumps(value)


def _from_json(text: str) -> Any:
    try:
        return from_json(text)  # several times as fast
    except ValueError:  # it parses no more than 200 levels
        return json.loads(text)


async def _connect(*arguments: Any, **options: Any) -> "asyncpg.Connection[asyncpg.Record]":
    """Connects as asyncpg does; raises `LedgerUnavailable` if Postgres refuses: the login or the database may change.

    The same errors of a statement may have another cause.
    """
    try:
        return await asyncpg.connect(*arguments, **options)
    except asyncpg.PostgresError as error:
        raise _unavailable(error) from error


async def _prepare(connection: Connection) -> None:
    for name in ("json", "jsonb"):
        await connection.set_type_codec(name, encoder=_as_json, decoder=_from_json, schema="pg_catalog")


async def create_pool(dsn: str, *, size: int = 10, lock_timeout_ms: int | None = None, timeout_s: float = 10) -> Pool:
    """Opens a pool whose connections read and write JSON as Python values.

    Args:
        dsn: DSN of Postgres; with `pgbouncer=true` if a pooler in transaction mode is in between.
        size: most connections.
        lock_timeout_ms: milliseconds to wait for a lock; `None`: without limit.
        timeout_s: seconds to wait for one statement.

    Raises:
        LedgerUnavailable: Postgres did not answer, or refused the connection.
    """
    settings = {"application_name": "purser", pooled.IDLE: f"{IDLE_S}s"}
    if lock_timeout_ms is not None:
        settings["lock_timeout"] = str(lock_timeout_ms)
    with reaching_ledger():
        return await WaitingPool(
            size=size,
            connect=_connect,
            init=_prepare,
            command_timeout=timeout_s,
            timeout=timeout_s,
            **{"connection_class": ResetAfterFailureConnection} | pooled.arguments(dsn, settings),
        )


@contextmanager
def reaching_ledger() -> Iterator[None]:
    """Maps all errors of an unavailable Postgres to `LedgerUnavailable`."""
    try:
        yield
    except _UNREACHABLE as error:
        raise _unavailable(error) from error


def _unavailable(error: Exception) -> LedgerUnavailable:
    return LedgerUnavailable(
        f"the ledger did not answer ({type(error).__name__}), so nothing is admitted; check Postgres and send the same "
        "request again: what may have arrived counts once"
    )


@contextmanager
def _counting() -> Iterator[None]:
    """Maps sums that exceed the range of a balance to `BeyondCounting`."""
    try:
        yield
    except asyncpg.NumericValueOutOfRangeError as error:
        raise BeyondCounting(
            "a balance of the path cannot count that much more: report the real cost of the call, or use other scopes"
        ) from error


@asynccontextmanager
async def connected(pool: Pool, connection: Connection | None) -> AsyncIterator[Connection]:
    """Yields the caller's connection, so that its transaction is shared, or one from the pool."""
    with reaching_ledger(), _counting():
        if connection is not None:
            yield connection
            return
        async with asyncio.timeout(ACQUIRE_S):
            own = await pool.acquire()
        try:
            yield own
        except asyncpg.ReadOnlySQLTransactionError:
            await pool.expire_connections()  # the others lead to the same server
            raise
        finally:
            with suppress(TimeoutError):
                await pool.release(own, timeout=RELEASE_S)


async def fetch(pool: Pool, statement: str, *arguments: Any) -> list[asyncpg.Record]:
    """The rows of one statement, on a connection of the pool."""
    async with connected(pool, None) as own:
        return await own.fetch(statement, *arguments)


async def fetchrow(pool: Pool, statement: str, *arguments: Any) -> asyncpg.Record | None:
    """The first row of one statement."""
    async with connected(pool, None) as own:
        return await own.fetchrow(statement, *arguments)


async def fetchval(pool: Pool, statement: str, *arguments: Any) -> Any:
    """The first column of the first row of one statement."""
    async with connected(pool, None) as own:
        return await own.fetchval(statement, *arguments)


async def execute(pool: Pool, statement: str, *arguments: Any) -> str:
    """The status of one statement."""
    async with connected(pool, None) as own:
        return await own.execute(statement, *arguments)


async def retrying(step: Callable[[], Awaitable[T]]) -> T:
    """Runs a transaction, again if Postgres aborted it to break a deadlock.

    Raises:
        LedgerUnavailable: it was aborted every time.
    """
    for again in range(_TRIES):
        try:
            return await step()
        except _CONTENTION:
            await asyncio.sleep(0.01 * 2**again)
    raise LedgerUnavailable(f"the ledger gave up after {_TRIES} deadlocks in a row: nothing was admitted; try again")


async def fetched(pool: Pool, connection: Connection | None, sql: str, *arguments: object) -> list[asyncpg.Record]:
    """Fetches the rows of a statement: in the caller's transaction, or in one of its own as `retrying` does."""

    async def step() -> list[asyncpg.Record]:
        async with connected(pool, connection) as own:
            return await own.fetch(sql, *arguments)

    return await (step() if connection is not None else retrying(step))


def row(record: asyncpg.Record | None) -> asyncpg.Record:
    """Returns the row of a statement that always returns one."""
    assert record is not None
    return record


def affected(status: str) -> int:
    """The number of rows in the status of a command, such as `DELETE 3`."""
    return int(status.split()[-1])
