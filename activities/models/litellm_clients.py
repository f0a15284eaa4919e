"""The client that LiteLLM is given for one request: in the shape that the provider's code takes."""

from importlib import import_module
from typing import Any

import httpx

from purser.activities.models.egress import Departure
from purser.activities.models.routes import Route


def client_of(way: Route, departure: Departure) -> Any:
    """A client whose only way out is `departure`."""
    if way.sdk:
        openai: Any = import_module("openai")
        http = httpx.AsyncClient(transport=departure, trust_env=False, follow_redirects=False)
        return openai.AsyncOpenAI(api_key=way.key, base_url=way.base, max_retries=0, http_client=http)
    handlers: Any = import_module("litellm.llms.custom_httpx.http_handler")
    return handlers.AsyncHTTPHandler(transport=departure, follow_redirects=False)
