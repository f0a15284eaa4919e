"""The table, for ADK. Its retries are those of `FallbackModel`, and of who runs the agent."""

from table import *  # noqa: F403
