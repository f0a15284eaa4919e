"""End the grants of a window with whose balance another kind goes on; let rollover be 0."""

from purser.compose.migrations import apply_sql

revision = "0007_grants_and_rollover"
down_revision = "0006_further_corrections"


def upgrade() -> None:
    apply_sql("purser.budget.postgres", "migrations/0007_grants_and_rollover.sql")
