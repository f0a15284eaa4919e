"""Calibration of token counts by reported usage."""

from compose.migrations import apply_sql

revision = "0006_counts"
down_revision = "0005_placeholders"


def upgrade() -> None:
    apply_sql("context.postgres", "0003_calibration.sql")
