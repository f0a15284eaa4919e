"""Postgres store of sessions: existence, owner and deletion."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime

import asyncpg

from purser.budget.postgres.connections.pools import Connection, Pool, connected
from purser.budget.postgres.connections.queries import load
from purser.context.errors import ContextError, SessionDeleted, SessionNotFound

_SQL = load("purser.context.postgres.sessions", "sessions.sql")


@dataclass(frozen=True, slots=True)
class Session:
    """A session that exists."""

    session_id: str
    user_id: str | None
    """Owner, once an append has named one."""
    last_seq: int
    """Sequence number of its newest message; 0 if it has none."""
    created_at: datetime


class Sessions:
    """Reads the sessions of all tenants."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def get(self, tenant: str, session_id: str) -> Session:
        """Reads a session.

        Raises:
            SessionNotFound, SessionDeleted: there is no such session.
        """
        async with connected(self._pool, None) as own:
            return await _found(own, "get", tenant, session_id)


async def lock(connection: Connection, tenant: str, session_id: str) -> Session:
    """Reads a session and locks its row until the transaction ends; raises the same errors as `Sessions.get`."""
    return await _found(connection, "lock", tenant, session_id)


async def ensure(connection: Connection, tenant: str, session_id: str) -> None:
    """Creates the session if it does not exist; raises `SessionDeleted`."""
    with refusing_deleted(session_id):
        await connection.execute(_SQL["ensure"], tenant, session_id)


async def check_not_deleted(connection: Connection, tenant: str, session_id: str) -> None:
    """Raises `SessionDeleted` if the session was deleted; one that never existed passes."""
    error = await _missing(connection, tenant, session_id)
    if isinstance(error, SessionDeleted):
        raise error


@contextmanager
def refusing_deleted(session_id: str) -> Iterator[None]:
    """Translates the database errors for a row of a deleted session into `SessionDeleted`.

    The session may have been deleted before, or after its rows were read from which the new row was derived.
    """
    try:
        yield
    except (asyncpg.UniqueViolationError, asyncpg.ForeignKeyViolationError) as error:
        if isinstance(error, asyncpg.UniqueViolationError) and error.constraint_name != "deleted_sessions_stay_deleted":
            raise
        raise SessionDeleted(f"session {session_id[:140]!r} was deleted: use a new id") from None


async def _found(connection: Connection, name: str, tenant: str, session_id: str) -> Session:
    row = await connection.fetchrow(_SQL[name], tenant, session_id)
    if row is None:
        raise await _missing(connection, tenant, session_id)
    return Session(session_id, row["user_id"], row["last_seq"], row["created_at"])


async def _missing(connection: Connection, tenant: str, session_id: str) -> ContextError:
    row = await connection.fetchrow(_SQL["deleted"], tenant, session_id)
    named = f"session {session_id[:140]!r}"
    if row is None:
        return SessionNotFound(f"{named} does not exist for this tenant: append its first message")
    by = f"by {row['deleted_by']}" if row["reason"] == "request" else "by retention"
    return SessionDeleted(f"{named} was deleted {by} at {row['deleted_at']:%Y-%m-%dT%H:%MZ}: use a new id")
