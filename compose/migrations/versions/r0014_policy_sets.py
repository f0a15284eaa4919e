"""Store the policies of many scopes in one call."""

from purser.compose.migrations import apply_sql

revision = "0014_policy_sets"
down_revision = "0013_windows_left"


def upgrade() -> None:
    apply_sql("purser.budget.postgres", "migrations/0014_policy_sets.sql")
