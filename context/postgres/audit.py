"""What people change about sessions, as events of the ledger's stream: who, what, and how it was before."""

from collections.abc import Mapping
from typing import Any

from budget.postgres.connection import Connection
from budget.postgres.queries import load
from budget.scopes import Kind, Scope

_SQL = load("context.postgres", "audit.sql")


async def record(
    connection: Connection, tenant: str, kind: str, scope: Scope | None, *, by: str, **data: Mapping[str, Any] | Any
) -> None:
    """Writes an event, in the transaction of the change.

    Args:
        connection: of that transaction.
        tenant: whose change.
        kind: `pin`, `settings`, `retention` or `deletion`.
        scope: the session or user; `None`: the tenant.
        by: who changed it.
        data: figures, names and versions. Never text: what it was stands in the versions of the rows themselves.
    """
    named = scope or Scope(Kind.TENANT, tenant)
    await connection.execute(_SQL["record"], tenant, kind, str(named), {"by": by, **data})
