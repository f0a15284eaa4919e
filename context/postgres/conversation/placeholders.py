"""Placeholders in Postgres: which number stands for which value of a session, without the values."""

import asyncio
import secrets
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TypeVar

from purser.budget.postgres.connections.pools import Connection, Pool, connected
from purser.budget.postgres.connections.queries import load
from purser.context.postgres.sessions.sessions import Sessions
from purser.context.redaction import Detector, Placeholder, Redactor

T = TypeVar("T")

_SQL = load("purser.context.postgres.conversation", "placeholders.sql")


class Placeholders:
    """Placeholders of all tenants."""

    def __init__(self, pool: Pool, custom: Sequence[Detector] = ()) -> None:
        """Args:
        pool: from `purser.budget.postgres.connections.pools.create_pool`.
        custom: configured detectors, see `purser.context.redaction.custom_detectors`.
        """
        self._pool = pool
        self._custom = custom

    async def redacted(self, tenant: str, session_id: str, work: Callable[[Redactor], T]) -> tuple[T, Counter[str]]:
        """What `work` makes with the session's redactor, once its placeholders are stored: nobody else has the same.

        Args:
            tenant, session_id: which session.
            work: runs in a thread, and again with another redactor if someone else took its numbers meanwhile.

        Returns:
            The result, and what was replaced in it by label.

        Raises:
            RedactionFailed: a detector broke.
            SessionNotFound, SessionDeleted
        """
        while True:
            redactor = await self.redactor(tenant, session_id)
            result = await asyncio.to_thread(work, redactor)
            if await self.store(tenant, session_id, redactor):
                return result, redactor.counts

    async def redactor(self, tenant: str, session_id: str) -> Redactor:
        """A redactor that knows the session's placeholders.

        Raises:
            SessionNotFound, SessionDeleted
        """
        async with connected(self._pool, None) as own:
            key = await own.fetchval(_SQL["key"], tenant, session_id)
            if key is None:
                await own.execute(_SQL["add_key"], tenant, session_id, secrets.token_bytes(32))
                key = await own.fetchval(_SQL["key"], tenant, session_id)
            rows = await own.fetch(_SQL["known"], tenant, session_id)
        if key is None:
            await Sessions(self._pool).get(tenant, session_id)  # Says what became of it.
        return Redactor(key, [Placeholder(**row) for row in rows], self._custom)

    async def store(
        self, tenant: str, session_id: str, redactor: Redactor, connection: Connection | None = None
    ) -> bool:
        """Keeps the redactor's new placeholders, all or none; the same again changes nothing.

        Do it before a redacted text is used: then no other text of the session means another value by one of them.

        Returns:
            Whether they are kept; otherwise someone else took one of the numbers, or numbered one of the values:
            redact anew, with a new redactor.
        """
        new = redactor.new
        if not new:
            return True
        columns = ([one.label for one in new], [one.number for one in new], [one.digest for one in new])
        async with connected(self._pool, connection) as own:
            try:
                async with own.transaction():
                    await own.execute(_SQL["add"], tenant, session_id, *columns)
                    if await own.fetchval(_SQL["count_stored"], tenant, session_id, *columns) != len(new):
                        raise _Taken
            except _Taken:
                return False
        return True


class _Taken(Exception):
    """Rolls back what was added beside a number that means another value."""
