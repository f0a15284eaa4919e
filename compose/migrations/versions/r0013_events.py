"""Events in an order that readers can continue from, progress of tasks, webhooks."""

from compose.migrations import apply_sql

revision = "0013_events"
down_revision = "0012_access"


def upgrade() -> None:
    apply_sql("budget.postgres", "0003_events.sql")
    apply_sql("budget.postgres", "0003_warnings.sql")
    apply_sql("activities.postgres", "0003_progress.sql")
    apply_sql("gateway.postgres", "0003_webhooks.sql")
