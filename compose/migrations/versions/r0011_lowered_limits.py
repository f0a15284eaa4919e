"""Find lowered limits without reading all entries since an approval request was opened."""

from purser.compose.migrations import apply_sql

revision = "0011_lowered_limits"
down_revision = "0010_lasting_hold_ids"


def upgrade() -> None:
    apply_sql("purser.budget.postgres", "migrations/0011_lowered_limits.sql")
