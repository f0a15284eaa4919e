"""Resolve the current window of a scope in one function, for all reports over many scopes."""

from purser.compose.migrations import apply_sql

revision = "0004_current_windows"
down_revision = "0003_ledger_corrections"


def upgrade() -> None:
    apply_sql("purser.budget.postgres", "migrations/0004_current_windows.sql")
