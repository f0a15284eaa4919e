"""Postgres behind a pooler that gives each transaction another server connection, such as PgBouncer.

Such a pooler keeps no session: a statement prepared in one round trip may be executed on a server that has never seen
it, a setting of the session ends up with somebody else, and unknown settings at the start are refused. A DSN with
`pgbouncer=true` says that one is in between.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import asyncpg

MARK = "pgbouncer"


def arguments(dsn: str, settings: dict[str, str]) -> dict[str, Any]:
    """What asyncpg is told to reach `dsn`.

    Args:
        dsn: with or without the mark.
        settings: of every connection, for `server_settings`.
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

    return {
        "dsn": plain,
        "connection_class": OwnConnection,
        "statement_cache_size": 0,
        "server_settings": session,
    }


class PooledConnection(asyncpg.Connection):
    """A connection whose settings hold in each transaction; where it has some, every statement stands in one."""

    __slots__ = ()
    local: tuple[tuple[str, str], ...] = ()
    """Settings of each transaction."""

    async def execute(self, query: str, *args: Any, timeout: float | None = None) -> str:
        """As asyncpg's; without arguments it is one round trip and needs no transaction of ours."""
        if not args:
            return await super().execute(self._begun(query), timeout=timeout)
        async with self._whole():
            return await super().execute(query, *args, timeout=timeout)

    async def executemany(self, command: str, args: Any, *, timeout: float | None = None) -> None:
        """As asyncpg's."""
        async with self._whole():
            await super().executemany(command, args, timeout=timeout)

    async def fetch(self, query: str, *args: Any, **options: Any) -> Any:
        """As asyncpg's."""
        async with self._whole():
            return await super().fetch(query, *args, **options)

    async def fetchrow(self, query: str, *args: Any, **options: Any) -> Any:
        """As asyncpg's."""
        async with self._whole():
            return await super().fetchrow(query, *args, **options)

    async def fetchval(self, query: str, *args: Any, **options: Any) -> Any:
        """As asyncpg's."""
        async with self._whole():
            return await super().fetchval(query, *args, **options)

    def get_reset_query(self) -> str:
        """No session is left behind, and a reset would reach somebody else's."""
        return ""

    @asynccontextmanager
    async def _whole(self) -> AsyncIterator[None]:
        if not self.local or self.is_in_transaction():
            yield
        else:
            async with self.transaction():
                yield

    def _begun(self, query: str) -> str:
        """asyncpg begins transactions with a statement of its own; their settings go along."""
        if not query.startswith("BEGIN"):
            return query
        return query + "".join(f" SET LOCAL {name} = '{value}';" for name, value in self.local)
