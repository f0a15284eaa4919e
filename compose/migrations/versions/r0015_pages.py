"""What pages look up."""

from compose.migrations import apply_sql

revision = "0015_pages"
down_revision = "0014_reading"


def upgrade() -> None:
    apply_sql("budget.postgres", "0004_tree.sql")
    apply_sql("activities.postgres", "0004_pages.sql")
