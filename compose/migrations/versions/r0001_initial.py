"""Create the schema of release 0.1.0, from a frozen copy of each package's `schema/`."""

from purser.compose.migrations import apply_sql

revision = "0001_initial"
down_revision = None


def upgrade() -> None:
    for store in ("budget", "context", "activities", "gateway"):
        apply_sql(f"purser.{store}.postgres", "migrations/0001_initial.sql")
