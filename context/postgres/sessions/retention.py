"""Deletion of sessions, on request or by age. Texts are deleted, figures remain; the ledger is not touched."""

from functools import partial
from typing import Protocol

import asyncpg

from purser.budget.actors import Actor
from purser.budget.postgres.changes import record
from purser.budget.postgres.connections.pools import Connection, Pool, connected, fetch, retrying
from purser.budget.postgres.connections.queries import load
from purser.budget.scopes import Kind, Scope
from purser.context.conversation.retention import RetentionPolicy, Tombstone
from purser.context.errors import SessionBusy, SessionDeleted, SessionNotFound
from purser.context.postgres.conversation.counts import USUAL_MODELS, encoding_of
from purser.context.postgres.sessions.sessions import lock

_SQL = load("purser.context.postgres.sessions", "retention.sql")
BATCH = 100
PATIENCE_S = 300.0
"""Statement timeout for the deletion of one session, which cascades to all its rows."""
SWEEPER = Actor("sweeper", None)


class SessionTextStore(Protocol):
    """A store with texts of sessions in tables that do not reference the session's row."""

    async def forget_session(self, tenant: str, session_id: str, connection: Connection) -> None:
        """Removes these texts in the transaction of the deletion; raises `SessionBusy` while a task still runs."""


class Retention:
    """Deletes sessions of all tenants."""

    def __init__(self, pool: Pool, others: SessionTextStore) -> None:
        """Args:
        pool: from `purser.budget.postgres.connections.pools.create_pool`.
        others: removes texts of the session elsewhere, before each deletion.
        """
        self._pool = pool
        self._others = others

    async def policy(self, tenant: str) -> RetentionPolicy:
        """How long a tenant's sessions are kept."""
        async with connected(self._pool, None) as own:
            return await _policy(own, tenant)

    async def set_policy(self, tenant: str, days: int | None, *, by: Actor) -> RetentionPolicy:
        """Sets how many days a tenant's sessions are kept after their last append; `None` for ever."""
        async with connected(self._pool, None) as own, own.transaction():
            await own.execute(_SQL["lock_policy"], tenant)
            before = await _policy(own, tenant)
            if before.days == days:
                return before
            [added] = await own.fetch(_SQL["set_policy"], tenant, before.version + 1, days, by.name)
            target = str(Scope(Kind.TENANT, tenant))
            await record(
                own, tenant, "retention.set", target, by=by, before={"days": before.days}, after={"days": days}
            )
        return RetentionPolicy(**added)

    async def delete(self, tenant: str, session_id: str, *, by: Actor) -> Tombstone:
        """Deletes a session; deleting it again returns the same tombstone.

        Raises:
            SessionNotFound: there is no such session.
            SessionBusy: a task or a compression of the session still runs; nothing was deleted.
        """

        async def step() -> Tombstone:
            async with connected(self._pool, None) as own, own.transaction():
                if found := await own.fetchrow(_SQL["tombstone"], tenant, session_id):
                    return _tombstone(found)
                return await self._delete(own, tenant, session_id, by, "request")

        return await retrying(step)

    async def sweep(self) -> int:
        """Deletes sessions that exceed their tenant's retention; busy ones are left for the next sweep.

        A session that cannot be deleted stops no other; the first failure is raised in the end.

        Returns:
            Number of deleted sessions.
        """
        deleted, place, failures = 0, ("", ""), list[Exception]()
        while True:
            due = await fetch(self._pool, _SQL["due"], *place, BATCH)
            for tenant, session_id in due:
                try:
                    deleted += await retrying(partial(self._expire, tenant, session_id))
                except Exception as error:
                    failures.append(error)
            if len(due) < BATCH:
                break
            place = tuple(due[-1])
        if failures:
            raise failures[0]
        return deleted

    async def _expire(self, tenant: str, session_id: str) -> bool:
        try:
            async with connected(self._pool, None) as own, own.transaction():
                await lock(own, tenant, session_id)
                if not await own.fetchval(_SQL["is_due"], tenant, session_id):
                    return False
                await self._delete(own, tenant, session_id, SWEEPER, "retention")
        except (SessionBusy, SessionNotFound, SessionDeleted):
            return False
        return True

    async def _delete(self, own: Connection, tenant: str, session_id: str, by: Actor, reason: str) -> Tombstone:
        await lock(own, tenant, session_id)
        await self._others.forget_session(tenant, session_id, own)
        if await own.fetchval(_SQL["compressing"], tenant, session_id) is not None:
            raise SessionBusy(f"session {session_id!r} is being compressed: try again in a moment")
        arguments = (tenant, session_id, by.name, reason, encoding_of(USUAL_MODELS[0]))
        [deleted_row] = await own.fetch(_SQL["delete"], *arguments, timeout=PATIENCE_S)
        tombstone = _tombstone(deleted_row)
        target = str(Scope(Kind.SESSION, session_id))
        figures = {"messages": tombstone.messages, "tokens": tombstone.tokens, "summaries": tombstone.summaries}
        await record(own, tenant, "session.delete", target, by=by, before=figures, after=None)
        return tombstone


async def _policy(own: Connection, tenant: str) -> RetentionPolicy:
    found = await own.fetchrow(_SQL["policy"], tenant)
    return RetentionPolicy() if found is None else RetentionPolicy(**found)


def _tombstone(found: asyncpg.Record) -> Tombstone:
    return Tombstone(**{name: value for name, value in found.items() if name != "tenant"})
