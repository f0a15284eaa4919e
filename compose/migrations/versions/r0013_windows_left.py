"""Apply the limits that were set meanwhile to a balance whose window is the current one again."""

from purser.compose.migrations import apply_sql

revision = "0013_windows_left"
down_revision = "0012_totals_of_metrics"


def upgrade() -> None:
    apply_sql("purser.budget.postgres", "migrations/0013_windows_left.sql")
