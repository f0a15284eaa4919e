"""Connections through a pooler in transaction mode, such as PgBouncer.

Such a pooler has no sessions: a statement prepared in one round trip may be executed on a server that has never seen
it, session settings leak to other clients, and unknown startup settings are refused. A DSN with `pgbouncer=true`
declares such a pooler.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from purser.budget.postgres.connections.array_types import ArrayTypesConnection

MARK = "pgbouncer"
IDLE = "idle_in_transaction_session_timeout"
"""Setting that matters between the statements of a transaction only."""


def arguments(dsn: str, settings: dict[str, str]) -> dict[str, Any]:
    """Returns the arguments with which asyncpg connects to `dsn`.

    Args:
        dsn: DSN, with or without `pgbouncer=true`.
        settings: server settings of every connection.
    """
    parts = urlsplit(dsn)
    query = parse_qsl(parts.query, keep_blank_values=True)
    if (MARK, "true") not in query:
        return {"dsn": dsn, "server_settings": settings}
    plain = urlunsplit(parts._replace(query=urlencode([pair for pair in query if pair[0] != MARK])))
    session = {name: value for name, value in settings.items() if name == "application_name"}
    of_transactions = tuple((name, value) for name, value in settings.items() if name not in session)

    class OwnConnection(PooledConnection):
        __slots__ = ()
        local = of_transactions
        wraps = any(name != IDLE for name, _ in of_transactions)

    return {
        "dsn": plain,
        "connection_class": OwnConnection,
        "statement_cache_size": 0,
        "server_settings": session,
    }


class PooledConnection(ArrayTypesConnection):
    """A connection that applies its settings per transaction.

    If one of them matters to a single statement, every statement runs in a transaction.
    """

    __slots__ = ()
    local: tuple[tuple[str, str], ...] = ()
    """Settings of each transaction."""
    wraps = False
    """Whether a statement outside of a transaction gets one of its own, for the settings."""

    async def execute(self, query: str, *args: Any, timeout: float | None = None) -> str:
        """Overrides asyncpg's; without arguments it is one round trip and needs no explicit transaction."""
        if not args:
            return await super().execute(self._begun(query), timeout=timeout)
        async with self._whole():
            return await super().execute(query, *args, timeout=timeout)

    async def executemany(self, command: str, args: Any, *, timeout: float | None = None) -> None:
        """Overrides asyncpg's: runs in a transaction."""
        async with self._whole():
            await super().executemany(command, args, timeout=timeout)

    async def fetch(self, query: str, *args: Any, **options: Any) -> Any:
        """Overrides asyncpg's: runs in a transaction."""
        async with self._whole():
            return await super().fetch(query, *args, **options)

    async def fetchrow(self, query: str, *args: Any, **options: Any) -> Any:
        """Overrides asyncpg's: runs in a transaction."""
        async with self._whole():
            return await super().fetchrow(query, *args, **options)

    async def fetchval(self, query: str, *args: Any, **options: Any) -> Any:
        """Overrides asyncpg's: runs in a transaction."""
        async with self._whole():
            return await super().fetchval(query, *args, **options)

    def get_reset_query(self) -> str:
        """There is no session to reset, and a reset would affect another client's."""
        return ""

    @asynccontextmanager
    async def _whole(self) -> AsyncIterator[None]:
        if not self.wraps or self.is_in_transaction():
            yield
        else:
            async with self.transaction():
                yield

    def _begun(self, query: str) -> str:
        """Appends the settings to the statement with which asyncpg begins a transaction."""
        if not query.startswith("BEGIN"):
            return query
        return query + "".join(f" SET LOCAL {name} = '{value}';" for name, value in self.local)
