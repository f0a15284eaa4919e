"""The HTTP client that LiteLLM uses for one request, of the type that the provider's code expects."""

from collections.abc import Awaitable, Callable
from importlib import import_module
from typing import Any

import httpx

from purser.activities.models.egress.routes import Route
from purser.activities.models.egress.transport import ProviderTransport

_APART = ("model", "stream", "timeout", "extra_headers", "extra_query", "extra_body")
"""What OpenAI's library itself has to know of a chat request."""


def client_of(route: Route, transport: ProviderTransport) -> Any:
    """Returns a client that sends everything through `transport`."""
    if route.sdk:
        openai: Any = import_module("openai")
        http = httpx.AsyncClient(transport=transport, trust_env=False, follow_redirects=False)
        client = openai.AsyncOpenAI(api_key=route.key, base_url=route.base, max_retries=0, http_client=http)
        client.chat.completions.create = _as_given(client.chat.completions.create)
        return client
    handlers: Any = import_module("litellm.llms.custom_httpx.http_handler")
    return handlers.AsyncHTTPHandler(transport=transport, follow_redirects=False)


def _as_given(create: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    """Sends the fields of a chat request as they are given.

    OpenAI's library would walk through every message and tool, by its types, on the event loop: seconds for thousands
    of messages, in which nothing else is served. It changes nothing in what LiteLLM gives it.
    """

    async def created(**given: Any) -> Any:
        apart = {name: given.pop(name) for name in _APART if name in given}
        fields = given | (apart.pop("extra_body", None) or {})
        return await create(messages=(), extra_body=fields, **apart)

    return created
