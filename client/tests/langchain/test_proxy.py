"""The table of the proxy, for `ChatOpenAI` without an agent."""

from proxy import *  # noqa: F403
