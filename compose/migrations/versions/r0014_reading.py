"""What reports read: usage, entries, burn rates; and answers kept by idempotency key."""

from compose.migrations import apply_sql

revision = "0014_reading"
down_revision = "0013_events"


def upgrade() -> None:
    apply_sql("budget.postgres", "0004_reading.sql")
    apply_sql("gateway.postgres", "0004_answers.sql")
