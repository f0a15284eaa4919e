"""Alembic environment: the current schema, and the revisions that lead to it.

The package that owns a table owns its SQL: `schema/` holds the current schema, a file for each subject; `migrations/`
holds the steps between releases. A test compares both.
"""

from importlib.resources import files

from alembic import op

SCHEMA = {
    "purser.budget.postgres": (
        "scopes",
        "windows",
        "tables",
        "journal",
        "closings",
        "changes",
        "events",
        "limits/warnings",
        "limits/templates",
        "limits/policies",
        "calls/posting",
        "limits/expansion",
        "limits/rolling",
        "limits/shadow",
        "limits/rollover",
        "calls/gate",
        "calls/attempts",
        "calls/settling",
        "calls/closing",
        "calls/steps",
        "limits/grants",
        "calls/batches",
        "reports/checkpoints",
        "reports/retention",
        "reports/audit_result",
        "reports/reports",
        "reports/budgets",
        "statistics",
        "views",
    ),
    "purser.context.postgres": (
        "conversation",
        "pins",
        "excerpts",
        "summaries",
        "facts",
        "memory",
        "settings",
        "redaction",
        "calibration",
        "events",
        "views",
    ),
    "purser.activities.postgres": ("tasks", "pacing", "events"),
    "purser.gateway.postgres": ("access", "webhooks", "answers"),
}
"""Files of each package's `schema/`, in dependency order."""


def apply_schema() -> None:
    """Create the whole schema, in the transaction of the migration."""
    for package, names in SCHEMA.items():
        for name in names:
            apply_sql(package, f"schema/{name}.sql")


def apply_sql(package: str, path: str) -> None:
    """Run a script of `package` in the transaction of the migration.

    A script goes to the server as one message, through the driver's own connection: SQLAlchemy prepares every
    statement, and a prepared statement holds only one command.
    """
    adapted = op.get_bind().connection.dbapi_connection
    assert adapted is not None
    script = files(package).joinpath(path).read_text(encoding="utf-8")
    adapted.run_async(lambda driver: driver.execute(script))
