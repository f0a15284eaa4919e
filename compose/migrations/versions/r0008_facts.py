"""Facts that sessions keep word for word."""

from compose.migrations import apply_sql

revision = "0008_facts"
down_revision = "0007_memory"


def upgrade() -> None:
    apply_sql("context.postgres", "0005_facts.sql")
