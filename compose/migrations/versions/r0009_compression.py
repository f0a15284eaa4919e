"""Layers, fidelity and failures of compressions."""

from compose.migrations import apply_sql

revision = "0009_compression"
down_revision = "0008_facts"


def upgrade() -> None:
    apply_sql("context.postgres", "0006_compression.sql")
