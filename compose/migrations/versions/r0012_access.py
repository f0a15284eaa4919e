"""Sign-in links, browser sessions, keys that end, and who changed what."""

from compose.migrations import apply_sql

revision = "0012_access"
down_revision = "0011_passed"


def upgrade() -> None:
    apply_sql("budget.postgres", "0002_changes.sql")
    apply_sql("gateway.postgres", "0002_access.sql")
    apply_sql("activities.postgres", "0005_submitted_by.sql")
