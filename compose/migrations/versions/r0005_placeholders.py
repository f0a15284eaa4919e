"""Placeholders of redacted values."""

from compose.migrations import apply_sql

revision = "0005_placeholders"
down_revision = "0004_keys"


def upgrade() -> None:
    apply_sql("context.postgres", "0002_placeholders.sql")
