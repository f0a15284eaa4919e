"""Let metrics read only balances that can count, a counter of overrun that never falls, and no budget in shadow."""

from purser.compose.migrations import apply_sql

revision = "0008_dormant_balances"
down_revision = "0007_grants_and_rollover"


def upgrade() -> None:
    apply_sql("purser.budget.postgres", "migrations/0008_dormant_balances.sql")
