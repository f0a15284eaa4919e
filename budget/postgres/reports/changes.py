"""Who changed what: one row a change, written in its transaction and never altered."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from purser.budget.actors import Actor
from purser.budget.postgres.connections.pools import Connection, Pool, connected
from purser.budget.postgres.connections.queries import load

_SQL = load("purser.budget.postgres.reports", "changes.sql")


@dataclass(frozen=True, slots=True)
class Change:
    """One change."""

    change_id: int
    at: datetime
    by: str
    """Name of the key, or of the part of Purser that acted."""
    key_id: str | None
    """`None` where no key acted."""
    action: str
    """`policy.set`, `key.create`, …"""
    target: str
    """What was changed: `session:s1`, `key:key-…`, …"""
    before: Mapping[str, Any] | None
    """`None`: it was not there."""
    after: Mapping[str, Any] | None
    """`None`: it is gone."""

    def to_json(self) -> dict[str, Any]:
        """As `GET /v1/changes` shows it."""
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
    """Writes a change, in its transaction.

    Args:
        connection: of that transaction.
        tenant: whose change.
        action: what was done, `thing.verb`.
        target: what it was done to, `kind:id`.
        by: who acts.
        before: figures, names and versions of how it was. Never a text of a conversation, never a secret.
        after: the same of how it is.
    """
    await connection.execute(_SQL["record"], tenant, by.name, by.key_id, action, target, before, after)


class Changes:
    """Changes of all tenants."""

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
        """Changes, newest first, and the cursor of the next page.

        Args:
            tenant: whose changes.
            target, by, action: only changes with exactly this.
            since: only changes at or after it.
            until: only changes before it.
            cursor: where the last page ended.
            limit: at most this many.
        """
        async with connected(self._pool, None) as own:
            found = await own.fetch(_SQL["list"], tenant, cursor, target, by, action, since, until, limit)
        page = [Change(**row) for row in found]
        return page, page[-1].change_id if len(page) == limit else None
