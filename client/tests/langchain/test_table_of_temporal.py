"""The table, for nodes of LangGraph in workflows."""

from temporal_table import *  # noqa: F403
