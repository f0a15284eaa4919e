"""The ledger: policies, balances, holds, attempts, entries, approvals."""

from compose.migrations import apply_sql

revision = "0001_ledger"
down_revision = None


def upgrade() -> None:
    apply_sql("budget.postgres", "0001_ledger.sql")
    apply_sql("budget.postgres", "0001_functions.sql")
    apply_sql("budget.postgres", "0001_batches.sql")
    apply_sql("budget.postgres", "0001_checkpoints.sql")
