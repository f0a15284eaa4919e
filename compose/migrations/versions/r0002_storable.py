"""Repair stored text that contains NULs or lone surrogates."""

from purser.compose.migrations import apply_sql

revision = "0002_storable"
down_revision = "0001_initial"


def upgrade() -> None:
    apply_sql("purser.context.postgres", "migrations/0002_storable.sql")
