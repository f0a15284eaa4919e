"""What metrics are computed from."""

from compose.migrations import apply_sql

revision = "0016_exporter"
down_revision = "0015_pages"


def upgrade() -> None:
    apply_sql("budget.postgres", "0005_exporter.sql")
