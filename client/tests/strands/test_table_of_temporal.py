"""The table, for agents of Strands in workflows."""

from temporal_table import *  # noqa: F403
