"""The table, for agents of ADK in workflows."""

from temporal_killed import *  # noqa: F403
from temporal_table import *  # noqa: F403
