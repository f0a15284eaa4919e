"""The table, for agents of pydantic-ai in workflows."""

from temporal_table import *  # noqa: F403
