"""Correct the amount of a refused addition."""

from purser.compose.migrations import apply_sql

revision = "0006_further_corrections"
down_revision = "0005_newest_request"


def upgrade() -> None:
    apply_sql("purser.budget.postgres", "migrations/0006_further_corrections.sql")
