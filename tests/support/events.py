"""Events for tests."""

from collections.abc import Mapping
from typing import Any

from purser.budget.postgres.connections.pools import Connection
from purser.budget.postgres.events.events import EventKind
from purser.budget.scopes import Scope


async def put(
    connection: Connection, tenant: str, kind: EventKind, scope: Scope | None, data: Mapping[str, Any]
) -> None:
    """Writes an event in the caller's transaction: it is published if and only if that commits."""
    await connection.execute("select put_event($1, $2, $3, $4)", tenant, kind, scope and str(scope), dict(data))
