"""The HTTP client that LiteLLM uses for one request, of the type that the provider's code expects."""

from importlib import import_module
from typing import Any

import httpx

from purser.activities.models.egress.routes import Route
from purser.activities.models.egress.transport import ProviderTransport


def client_of(route: Route, transport: ProviderTransport) -> Any:
    """Returns a client that sends everything through `transport`."""
    if route.sdk:
        openai: Any = import_module("openai")
        http = httpx.AsyncClient(transport=transport, trust_env=False, follow_redirects=False)
        return openai.AsyncOpenAI(api_key=route.key, base_url=route.base, max_retries=0, http_client=http)
    handlers: Any = import_module("litellm.llms.custom_httpx.http_handler")
    return handlers.AsyncHTTPHandler(transport=transport, follow_redirects=False)
