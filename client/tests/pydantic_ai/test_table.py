"""The table, for pydantic-ai. Its retries are those of `FallbackModel`."""

from table import *  # noqa: F403
