"""The change log: one row per change, written in its transaction and never altered."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from purser.budget.actors import Actor
from purser.budget.postgres.connections.pools import Connection, Pool, fetch
from purser.budget.postgres.connections.queries import load

_SQL = load("purser.budget.postgres", "changes.sql")


@dataclass(frozen=True, slots=True)
class Change:
    """One change to a policy, key, session, task, approval or webhook."""

    change_id: int
    at: datetime
    by: str
    """Name of the key or of the component of Purser that acted."""
    key_id: str | None
    """`None` if no key acted."""
    action: str
    """`policy.set`, `key.create`, …"""
    target: str
    """The changed object: `session:s1`, `key:key-…`, …"""
    before: Mapping[str, Any] | None
    """`None`: it did not exist before."""
    after: Mapping[str, Any] | None
    """`None`: it does not exist any more."""

    def to_json(self) -> dict[str, Any]:
        """The change in the response of `GET /v1/changes`."""
        return asdict(self) | {"change_id": str(self.change_id), "at": self.at.isoformat()}


async def record(
    connection: Connection,
    tenant: str,
    action: str,
    target: str,
    *,
    by: Actor,
    before: Mapping[str, Any] | None,
    after: Mapping[str, Any] | None,
) -> None:
    """Records a change in its own transaction.

    Args:
        connection: connection of that transaction.
        tenant: tenant of the changed object.
        action: what was done, as `object.verb`.
        target: the changed object, as `kind:id`.
        by: the actor.
        before: figures, names and versions before the change. Never text of a conversation, never a secret.
        after: the same after the change.
    """
    await record_each(connection, tenant, action, [(target, before, after)], by=by)


async def record_each(
    connection: Connection,
    tenant: str,
    action: str,
    changes: Iterable[tuple[str, Mapping[str, Any] | None, Mapping[str, Any] | None]],
    *,
    by: Actor,
) -> None:
    """Records the same action on several objects; `changes` are target, before and after of each, as of `record`."""
    rows = [(tenant, by.name, by.key_id, action, *change) for change in changes]
    await connection.executemany(_SQL["record"], rows)


class Changes:
    """The change log of all tenants."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def list(
        self,
        tenant: str,
        *,
        target: str | None = None,
        by: str | None = None,
        action: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        cursor: int | None = None,
        limit: int = 100,
    ) -> tuple[list[Change], int | None]:
        """Lists changes, newest first, and returns the cursor of the next page.

        Args:
            tenant: tenant of the changes.
            target, by, action: only changes with exactly this value.
            since: only changes at or after this time.
            until: only changes before this time.
            cursor: cursor of the previous page.
            limit: most changes to return.
        """
        found = await fetch(self._pool, _SQL["list"], tenant, cursor, target, by, action, since, until, limit)
        page = [Change(**row) for row in found]
        return page, page[-1].change_id if len(page) == limit else None
