"""Tasks, agents and what they exchange by reference."""

from compose.migrations import apply_sql

revision = "0003_tasks"
down_revision = "0002_conversation"


def upgrade() -> None:
    apply_sql("activities.postgres", "0001_tasks.sql")
