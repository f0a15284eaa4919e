"""The table of the proxy, for OpenAI's own client: the environments `clients` and `openai-2` have versions 3 and 2."""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any

import pytest
from doors import MODEL, Door
from openai import AsyncOpenAI, DefaultAsyncHttpxClient
from proxy import *  # noqa: F403
from proxy import KEY, address, headers
from table import OUTPUT


@dataclass
class OpenAIRoad:
    """Chats."""

    client: AsyncOpenAI

    async def ask(self, text: str) -> str:
        reply = await self.client.chat.completions.create(**self._request(text))
        return str(reply.choices[0].message.content)

    async def stream(self, text: str) -> AsyncIterator[str]:
        async with await self.client.chat.completions.create(**self._request(text), stream=True) as chunks:
            async for chunk in chunks:
                if chunk.choices and (piece := chunk.choices[0].delta.content):
                    yield piece

    def _request(self, text: str) -> dict[str, Any]:
        return {"model": MODEL, "max_tokens": OUTPUT, "messages": [{"role": "user", "content": text}]}


@pytest.fixture
async def client_of(door: Door) -> AsyncIterator[Callable[..., OpenAIRoad]]:
    async with DefaultAsyncHttpxClient(event_hooks={"request": [door.note]}) as http:

        def make(**more: str) -> OpenAIRoad:
            named = headers(door, more)
            client = AsyncOpenAI(base_url=address("openai/v1"), api_key=KEY, default_headers=named, http_client=http)
            return OpenAIRoad(client)

        yield make
