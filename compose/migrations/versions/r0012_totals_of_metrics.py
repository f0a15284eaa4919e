"""Let metrics read totals of shadow counts and approval requests that no longer change, however many there are."""

from purser.compose.migrations import apply_sql

revision = "0012_totals_of_metrics"
down_revision = "0011_lowered_limits"


def upgrade() -> None:
    apply_sql("purser.budget.postgres", "migrations/0012_totals_of_metrics.sql")
