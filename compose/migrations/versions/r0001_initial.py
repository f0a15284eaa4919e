"""Create the whole schema. Until the first release this applies `schema/`; from then on, a frozen copy of its files."""

from purser.compose.migrations import apply_schema

revision = "0001_initial"
down_revision = None


def upgrade() -> None:
    apply_schema()
