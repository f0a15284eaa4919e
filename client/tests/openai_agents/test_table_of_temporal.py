"""The table, for agents of the OpenAI Agents SDK in workflows."""

from temporal_killed import *  # noqa: F403
from temporal_table import *  # noqa: F403
