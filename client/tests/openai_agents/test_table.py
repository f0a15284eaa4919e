"""The table, for the OpenAI Agents SDK."""

from table import *  # noqa: F403
