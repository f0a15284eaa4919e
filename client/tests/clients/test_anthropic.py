"""The table of the proxy, for Anthropic's own client."""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any

import pytest
from anthropic import AsyncAnthropic, DefaultAsyncHttpxClient
from doors import MODEL, Door
from proxy import *  # noqa: F403
from proxy import KEY, address, headers
from table import OUTPUT


@dataclass
class AnthropicRoad:
    """Sends messages."""

    client: AsyncAnthropic

    async def ask(self, text: str) -> str:
        return "".join(block.text for block in (await self.client.messages.create(**self._request(text))).content)

    async def stream(self, text: str) -> AsyncIterator[str]:
        async with self.client.messages.stream(**self._request(text)) as arriving:
            async for piece in arriving.text_stream:
                yield piece

    def _request(self, text: str) -> dict[str, Any]:
        return {"model": MODEL, "max_tokens": OUTPUT, "messages": [{"role": "user", "content": text}]}


@pytest.fixture
async def client_of(door: Door) -> AsyncIterator[Callable[..., AnthropicRoad]]:
    async with DefaultAsyncHttpxClient(event_hooks={"request": [door.note]}) as http:

        def make(**more: str) -> AnthropicRoad:
            named = headers(door, more)
            client = AsyncAnthropic(base_url=address("anthropic"), api_key=KEY, default_headers=named, http_client=http)
            return AnthropicRoad(client)

        yield make
