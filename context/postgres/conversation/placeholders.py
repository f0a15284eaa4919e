"""Postgres store of redaction placeholders: maps digests of a session's values to numbers, never the values."""

import asyncio
import secrets
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

from purser.budget.postgres.connections.pools import Connection, Pool, connected
from purser.budget.postgres.connections.queries import load
from purser.context.compression.requests import Redact
from purser.context.postgres.sessions.sessions import Sessions, refusing_deleted
from purser.context.redaction import CleanTexts, Detector, Placeholder, Redactor

T = TypeVar("T")

_SQL = load("purser.context.postgres.conversation", "placeholders.sql")


class Placeholders:
    """Stores the placeholders of all tenants."""

    def __init__(self, pool: Pool, custom: Sequence[Detector] = ()) -> None:
        """Args:
        pool: from `purser.budget.postgres.connections.pools.create_pool`.
        custom: configured detectors, see `purser.context.redaction.custom_detectors`.
        """
        self._pool = pool
        self._custom = custom
        self._clean = CleanTexts()

    async def redacted(self, tenant: str, session_id: str, work: Callable[[Redactor], T]) -> tuple[T, Counter[str]]:
        """Runs `work` with the session's redactor and stores the new placeholders before it returns.

        Args:
            tenant, session_id: the session.
            work: runs in a thread, and again with another redactor if a concurrent caller took one of its numbers.

        Returns:
            The result of `work`, and the number of values replaced by label.

        Raises:
            RedactionFailed: a detector failed.
            SessionNotFound, SessionDeleted: there is no such session.
        """
        while True:
            redactor = await self.redactor(tenant, session_id)
            result = await asyncio.to_thread(work, redactor)
            if await self.store(tenant, session_id, redactor):
                return result, redactor.counts

    async def redactor(self, tenant: str, session_id: str) -> Redactor:
        """Creates a redactor with the session's placeholders.

        Raises:
            SessionNotFound, SessionDeleted: there is no such session.
        """
        async with connected(self._pool, None) as own:
            key = await own.fetchval(_SQL["key"], tenant, session_id)
            if key is None:
                with refusing_deleted(session_id):
                    await own.execute(_SQL["add_key"], tenant, session_id, secrets.token_bytes(32))
                key = await own.fetchval(_SQL["key"], tenant, session_id)
            known = await self._known(own, tenant, session_id)
        if key is None:
            await Sessions(self._pool).get(tenant, session_id)  # Raises with the reason.
        return Redactor(key, known, self._custom)

    async def preview(self, tenant: str, session_id: str) -> Redact:
        """A function that redacts texts of a session as the next compression would, and stores nothing.

        Not thread-safe. Clean texts are recognized by their digest, because previews repeat them.
        """
        async with connected(self._pool, None) as own:
            key = await own.fetchval(_SQL["key"], tenant, session_id)
            known = await self._known(own, tenant, session_id)
        return partial(self._clean.redact, Redactor(key, known, self._custom))

    async def _known(self, own: Connection, tenant: str, session_id: str) -> list[Placeholder]:
        return [Placeholder(**row) for row in await own.fetch(_SQL["known"], tenant, session_id)]

    async def store(self, tenant: str, session_id: str, redactor: Redactor) -> bool:
        """Stores the redactor's new placeholders atomically; storing them again changes nothing.

        Call it before a redacted text is used, so that each placeholder has one meaning in the whole session.

        Returns:
            Whether they are stored. If not, a concurrent caller took one of the numbers or numbered one of the values:
            redact again with a new redactor.
        """
        new = redactor.new
        if not new:
            return True
        columns = ([one.label for one in new], [one.number for one in new], [one.digest for one in new])
        try:
            async with connected(self._pool, None) as own, own.transaction():
                with refusing_deleted(session_id):
                    await own.execute(_SQL["add"], tenant, session_id, *columns)
                if await own.fetchval(_SQL["count_stored"], tenant, session_id, *columns) != len(new):
                    raise _Taken
        except _Taken:
            return False
        return True


class _Taken(Exception):
    """Rolls back the insertion when a number was taken for another value."""
