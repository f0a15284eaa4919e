"""What summaries passed over is stored with them."""

from compose.migrations import apply_sql

revision = "0011_passed"
down_revision = "0010_sessions"


def upgrade() -> None:
    apply_sql("context.postgres", "0008_passed.sql")
