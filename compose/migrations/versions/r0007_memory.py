"""The index for retrieval over stored messages."""

from compose.migrations import apply_sql

revision = "0007_memory"
down_revision = "0006_counts"


def upgrade() -> None:
    apply_sql("context.postgres", "0004_memory.sql")
