"""Keep requests of tasks from leaving the window of a stored mode, and from turning a default mode into a shadow."""

from purser.compose.migrations import apply_sql

revision = "0009_binding_policies"
down_revision = "0008_dormant_balances"


def upgrade() -> None:
    apply_sql("purser.budget.postgres", "migrations/0009_binding_policies.sql")
