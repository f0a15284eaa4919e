"""Keys of the HTTP API."""

from compose.migrations import apply_sql

revision = "0004_keys"
down_revision = "0003_tasks"


def upgrade() -> None:
    apply_sql("gateway.postgres", "0001_keys.sql")
