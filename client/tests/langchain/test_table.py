"""The table, for LangChain. Its retries are those of `ModelRetryMiddleware`."""

from table import *  # noqa: F403
