"""Token limits of stored policies and templates of all tenants, for the configuration linter."""

from collections.abc import Mapping
from dataclasses import replace

from purser.budget.policies.fields import Mode
from purser.budget.policies.policy import Policy
from purser.budget.postgres.connections.pools import Connection
from purser.budget.postgres.connections.queries import load
from purser.budget.scopes import Kind

_SQL = load("purser.budget.postgres.reports", "stored_limits.sql")
MOST = 100
"""Number of limits that are read, the smallest ones."""


async def stored_limits(connection: Connection, defaults: Mapping[Kind, Policy]) -> dict[str, Policy]:
    """Returns policies by tenant and name, such as `acme agent:t1/a1`; a mode that is not stored is the default."""
    rows = await connection.fetch(_SQL["stored_limits"], MOST)
    found = {}
    for row in rows:
        default = defaults[Kind(row["name"].partition(":")[0])]
        mode = Mode(row["mode"]) if row["mode"] else default.mode
        found[f"{row['tenant']} {row['name']}"] = replace(default, limit_tokens=row["limit_tokens"], mode=mode)
    return found
