"""Postgres store of personal settings: each change is a version, so that a plan can reference what it shows."""

from collections.abc import Mapping
from typing import Any

import asyncpg

from purser.budget.actors import Actor
from purser.budget.postgres.changes import record
from purser.budget.postgres.connections.pools import Connection, Pool, affected, connected, fetch
from purser.budget.postgres.connections.queries import load
from purser.budget.scopes import Kind, Scope
from purser.context.conversation.preferences import Personal, Preferences, check_fields
from purser.context.conversation.storable import storable
from purser.context.postgres.sessions.sessions import ensure, lock

_SQL = load("purser.context.postgres.sessions", "preferences.sql")


class PersonalSettings:
    """Stores the personal settings of all tenants."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def of_user(self, tenant: str, user_id: str) -> Preferences:
        """The settings of a user; empty if there are none."""
        async with connected(self._pool, None) as own:
            return await _latest(own, "of_user", tenant, user_id)

    async def of_session(self, tenant: str, session_id: str) -> Preferences:
        """The settings of a session, without those of its user."""
        async with connected(self._pool, None) as own:
            return await _latest(own, "of_session", tenant, session_id)

    async def personal(self, tenant: str, session_id: str) -> Personal:
        """The settings in effect in a session: its user's and its own."""
        [found] = await fetch(self._pool, _SQL["personal"], tenant, session_id)
        return Personal(_part(found, "user"), _part(found, "own"))

    async def at(self, tenant: str, session_id: str, versions: tuple[int, int]) -> Personal:
        """The settings of a session at these versions of its user's settings and its own."""
        [found] = await fetch(self._pool, _SQL["personal_at"], tenant, session_id, *versions)
        return Personal(_part(found, "user"), _part(found, "own"))

    async def set_for_user(self, tenant: str, user_id: str, fields: Mapping[str, Any], *, by: Actor) -> Preferences:
        """Replaces the settings of a user; equal settings change nothing.

        Raises:
            InvalidPreferences: the settings are malformed or too long.
        """
        fields = storable(fields)
        check_fields(fields)
        async with connected(self._pool, None) as own, own.transaction():
            await own.execute(_SQL["lock_user"], tenant, user_id)
            return await _set(own, "user", tenant, Scope(Kind.USER, user_id), fields, by)

    async def delete_for_user(self, tenant: str, user_id: str, *, by: Actor) -> Preferences:
        """Removes the fields of every version of a user's settings; deleting them again changes nothing.

        The numbers, authors and times of the versions remain, and an empty version follows: a plan never refers to a
        number that later gets other fields.

        Returns:
            The empty settings.
        """
        async with connected(self._pool, None) as own, own.transaction():
            await own.execute(_SQL["lock_user"], tenant, user_id)
            before = await _latest(own, "of_user", tenant, user_id)
            if not affected(await own.execute(_SQL["clear_of_user"], tenant, user_id)):
                return before
            return await _add(own, "user", tenant, Scope(Kind.USER, user_id), before, {}, "settings.delete", by)

    async def set_for_session(
        self, tenant: str, session_id: str, fields: Mapping[str, Any], *, by: Actor
    ) -> Preferences:
        """Replaces the settings of a session, which may still be empty; equal settings change nothing.

        Raises:
            InvalidPreferences: the settings are malformed or too long.
            SessionDeleted: the session was deleted.
        """
        fields = storable(fields)
        check_fields(fields)
        async with connected(self._pool, None) as own, own.transaction():
            await ensure(own, tenant, session_id)
            await lock(own, tenant, session_id)
            return await _set(own, "session", tenant, Scope(Kind.SESSION, session_id), fields, by)


async def _set(
    own: Connection, whose: str, tenant: str, scope: Scope, fields: Mapping[str, Any], by: Actor
) -> Preferences:
    before = await _latest(own, f"of_{whose}", tenant, scope.id)
    if before.fields == dict(fields):
        return before
    return await _add(own, whose, tenant, scope, before, fields, "settings.set", by)


async def _add(
    own: Connection,
    whose: str,
    tenant: str,
    scope: Scope,
    before: Preferences,
    fields: Mapping[str, Any],
    action: str,
    by: Actor,
) -> Preferences:
    [added] = await own.fetch(_SQL[f"add_to_{whose}"], tenant, scope.id, before.version + 1, dict(fields), by.name)
    after = Preferences(**added)
    await record(own, tenant, action, str(scope), by=by, before=_audit_fields(before), after=_audit_fields(after))
    return after


def _audit_fields(settings: Preferences) -> dict[str, object]:
    """Version and number of fields for the change log, which cannot be erased: names of fields may be personal too."""
    return {"version": settings.version, "fields": len(settings.fields)}


async def _latest(own: Connection, name: str, tenant: str, identifier: str) -> Preferences:
    found = await own.fetchrow(_SQL[name], tenant, identifier)
    return Preferences() if found is None else Preferences(**found)


def _part(found: asyncpg.Record, name: str) -> Preferences:
    if found[f"{name}_version"] is None:
        return Preferences()
    return Preferences(found[f"{name}_fields"], found[f"{name}_version"], found[f"{name}_by"], found[f"{name}_at"])
