"""Let no id of a hold be given out again after a restore or a failover."""

from purser.compose.migrations import apply_sql

revision = "0010_lasting_hold_ids"
down_revision = "0009_binding_policies"


def upgrade() -> None:
    apply_sql("purser.budget.postgres", "migrations/0010_lasting_hold_ids.sql")
