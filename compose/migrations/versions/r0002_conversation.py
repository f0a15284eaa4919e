"""Sessions, messages and summaries."""

from compose.migrations import apply_sql

revision = "0002_conversation"
down_revision = "0001_ledger"


def upgrade() -> None:
    apply_sql("context.postgres", "0001_conversation.sql")
