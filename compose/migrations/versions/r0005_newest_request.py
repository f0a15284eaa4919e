"""Find the newest user message of a thread in one function, for all statements that read a thread."""

from purser.compose.migrations import apply_sql

revision = "0005_newest_request"
down_revision = "0004_current_windows"


def upgrade() -> None:
    apply_sql("purser.context.postgres", "migrations/0005_newest_request.sql")
