"""Connections that are reset only after a failure.

After each use asyncpg resets settings, cursors and locks of the session, which costs one more round trip per statement.
No statement here leaves any of them behind, so the reset is needed only after one that has failed: it may have left a
transaction open that asyncpg does not know of.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from purser.budget.postgres.connections.array_types import ArrayTypesConnection


class ResetAfterFailureConnection(ArrayTypesConnection):
    """A connection that is reset only after a failure. Open transactions are always rolled back."""

    __slots__ = ("_failed",)

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._failed = False

    async def execute(self, query: str, *args: Any, **options: Any) -> str:
        """Overrides asyncpg's: notes a failure."""
        with self._watched():
            return await super().execute(query, *args, **options)

    async def executemany(self, command: str, args: Any, **options: Any) -> None:
        """Overrides asyncpg's: notes a failure."""
        with self._watched():
            await super().executemany(command, args, **options)

    async def fetch(self, query: str, *args: Any, **options: Any) -> Any:
        """Overrides asyncpg's: notes a failure."""
        with self._watched():
            return await super().fetch(query, *args, **options)

    async def fetchrow(self, query: str, *args: Any, **options: Any) -> Any:
        """Overrides asyncpg's: notes a failure."""
        with self._watched():
            return await super().fetchrow(query, *args, **options)

    async def fetchval(self, query: str, *args: Any, **options: Any) -> Any:
        """Overrides asyncpg's: notes a failure."""
        with self._watched():
            return await super().fetchval(query, *args, **options)

    def get_reset_query(self) -> str:
        """The statement that is sent when the connection returns to the pool."""
        failed, self._failed = self._failed, False
        return super().get_reset_query() if failed else ""

    @contextmanager
    def _watched(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self._failed = True
            raise
