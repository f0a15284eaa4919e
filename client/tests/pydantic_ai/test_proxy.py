"""The table of the proxy, for agents of pydantic-ai with the model of OpenAI."""

from proxy import *  # noqa: F403
