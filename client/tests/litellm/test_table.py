"""The table, for LiteLLM. Its retries are those of a Router."""

from table import *  # noqa: F403
