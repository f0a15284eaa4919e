"""Files of tasks that have not ended, for the configuration linter."""

from purser.activities.tasks.file import TaskFile
from purser.budget.postgres.connections.pools import Connection
from purser.budget.postgres.connections.queries import load

_SQL = load("purser.activities.postgres", "unended.sql")
NEWEST = 100
"""Number of newest tasks that are read."""


async def unended_files(connection: Connection) -> dict[str, TaskFile]:
    """Returns the newest task files of all tenants by tenant and id, such as `acme t1`."""
    rows = await connection.fetch(_SQL["files"], NEWEST)
    return {f"{row['tenant']} {row['task_id']}": TaskFile.stored_text(row["body"]) for row in rows}
