"""Text that was stored with NULs or halves of surrogate pairs is healed."""

from compose.migrations import apply_sql

revision = "0017_storable"
down_revision = "0016_exporter"


def upgrade() -> None:
    apply_sql("context.postgres", "0009_storable.sql")
