"""Everything. Until the first release this is `schema/` as it is now; from then on its files are a copy that stays."""

from purser.compose.migrations import apply_schema

revision = "0001_initial"
down_revision = None


def upgrade() -> None:
    apply_schema()
