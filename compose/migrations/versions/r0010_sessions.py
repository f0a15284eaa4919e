"""Pins, settings, retention and deletion of sessions."""

from compose.migrations import apply_sql

revision = "0010_sessions"
down_revision = "0009_compression"


def upgrade() -> None:
    apply_sql("context.postgres", "0007_sessions.sql")
    apply_sql("activities.postgres", "0002_sessions.sql")
