"""Connections that keep their session from one use to the next.

asyncpg asks Postgres after each use to forget settings, cursors and locks of the session, which is one more round trip
for every statement. No statement here leaves any of them behind, so that is done only after one that has failed: it may
have left a transaction open of which asyncpg does not know.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import asyncpg


class KeptConnection(asyncpg.Connection):
    """A connection that is reset after a failure only. Open transactions are always rolled back."""

    __slots__ = ("_failed",)

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._failed = False

    async def execute(self, query: str, *args: Any, **options: Any) -> str:
        """As asyncpg's."""
        with self._watched():
            return await super().execute(query, *args, **options)

    async def executemany(self, command: str, args: Any, **options: Any) -> None:
        """As asyncpg's."""
        with self._watched():
            await super().executemany(command, args, **options)

    async def fetch(self, query: str, *args: Any, **options: Any) -> Any:
        """As asyncpg's."""
        with self._watched():
            return await super().fetch(query, *args, **options)

    async def fetchrow(self, query: str, *args: Any, **options: Any) -> Any:
        """As asyncpg's."""
        with self._watched():
            return await super().fetchrow(query, *args, **options)

    async def fetchval(self, query: str, *args: Any, **options: Any) -> Any:
        """As asyncpg's."""
        with self._watched():
            return await super().fetchval(query, *args, **options)

    def get_reset_query(self) -> str:
        """What is sent when a use is over."""
        failed, self._failed = self._failed, False
        return super().get_reset_query() if failed else ""

    @contextmanager
    def _watched(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self._failed = True
            raise
