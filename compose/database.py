"""Connections to the configured Postgres, or to the embedded one, with or without a running `up`."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import asyncpg

from purser.budget.postgres.connections.pgbouncer import arguments
from purser.compose.errors import AlreadyRunning, SettingsError, TooManyConnections, Unreachable
from purser.compose.settings import Settings
from purser.compose.stack.lock import FileLock
from purser.compose.stack.postgres import EmbeddedPostgres

if TYPE_CHECKING:
    Connection = asyncpg.Connection[asyncpg.Record]


PATIENCE_S, LOOK_AGAIN_S = 15.0, 0.1
"""How long to wait for another command that uses the database of a data directory, and the pause between two looks."""


async def connect(dsn: str) -> "Connection":
    """Open one connection.

    Raises:
        SettingsError: the DSN is not valid.
        TooManyConnections: Postgres has as many connections as it accepts.
        Unreachable: Postgres does not answer, or rejects the credentials. The message contains no password.
    """
    try:
        return await asyncpg.connect(**arguments(dsn, {}))
    except asyncpg.TooManyConnectionsError as error:
        raise TooManyConnections(
            f"Postgres accepts no further connection: {error}",
            remedy="Raise its max_connections, or use PgBouncer: docs/operations/scaling.md says how many each process "
            "needs.",
        ) from error
    except ValueError as error:
        raise SettingsError(
            f"dsn is not valid: {error}",
            remedy="Correct PURSER_DSN: it looks like postgresql://user:password@host:5432/database.",
        ) from error
    except (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        raise Unreachable(
            f"Postgres does not answer: {str(error) or type(error).__name__}",
            remedy="Check PURSER_DSN, and that the server runs.",
        ) from error


@asynccontextmanager
async def connected(dsn: str) -> AsyncIterator["Connection"]:
    """Open one connection and close it at the end."""
    connection = await connect(dsn)
    try:
        yield connection
    except BaseException:
        connection.terminate()  # a farewell would wait for a server that does not answer
        raise
    await connection.close()


@asynccontextmanager
async def database(settings: Settings) -> AsyncIterator[str]:
    """Yield the DSN of the database, whether the stack is up or down.

    If no DSN is configured and nothing runs, the embedded server of the data directory is started and stopped again.

    Raises:
        SettingsError: the data directory holds no database.
        AlreadyRunning: another command uses the database there, or an `up` is starting or stopping.
    """
    if settings.dsn is not None:
        yield settings.dsn
        return
    data = settings.data_dir
    if not (data / "postgres" / "PG_VERSION").exists():
        raise SettingsError(
            f"dsn is not set, and {str(data)!r} holds no database",
            remedy="Set PURSER_DSN, or name the directory of an `up` with --data DIR.",
        )
    lock, deadline = FileLock(data / "up.lock"), time.monotonic() + PATIENCE_S
    while not lock.try_acquire():
        if time.monotonic() > deadline:
            raise AlreadyRunning(
                f"another command uses the database in {str(data)!r}, or an `up` is starting or stopping there",
                remedy="Try again in a moment.",
            )
        await asyncio.sleep(LOOK_AGAIN_S)
    server = EmbeddedPostgres(data / "postgres")
    try:
        yield await server.start()
    finally:
        server.stop()
        lock.release()
