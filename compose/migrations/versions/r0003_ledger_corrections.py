"""Correct rollover, late reports on rolling windows, leases of extended holds, and the order of asks in a batch."""

from purser.compose.migrations import apply_sql

revision = "0003_ledger_corrections"
down_revision = "0002_storable"


def upgrade() -> None:
    apply_sql("purser.budget.postgres", "migrations/0003_ledger_corrections.sql")
