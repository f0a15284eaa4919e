"""LiteLLM, with a Router around the provider of the tests, or around the proxy."""

import os
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, ClassVar

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # else its import looks for prices on the network

import httpx
import litellm
import pytest
from doors import MODEL, Door
from proxy import KEY, address, headers
from table import OUTPUT

from purser_client.litellm import PurserLogger


@dataclass
class LiteLLMRoad:
    """Calls of a Router: chats, and in its subclasses calls of other kinds."""

    params: dict[str, Any]
    """Of a call without a Router."""
    repeats: dict[str, int] = field(default_factory=dict)
    """How often the Router repeats a request, if not as by default."""
    limit: ClassVar[str] = "max_tokens"

    @property
    def router(self) -> litellm.Router:
        return litellm.Router([{"model_name": "greeter", "litellm_params": self.params}], **self.repeats)

    async def ask(self, text: str) -> str:
        return self.text_of(await self.reply(text))

    async def stream(self, text: str) -> AsyncIterator[str]:
        chunks = await self.reply(text, stream=True)
        async with aclosing(chunks):
            async for chunk in chunks:
                if piece := self.piece_of(chunk):
                    yield piece

    async def reply(self, text: str, **options: Any) -> Any:
        return await self.router.acompletion("greeter", [{"role": "user", "content": text}], **options)

    def text_of(self, reply: Any) -> str:
        return str(reply.choices[0].message.content)

    def piece_of(self, chunk: Any) -> str | None:
        piece: str | None = chunk.choices[0].delta.content
        return piece


class TextRoad(LiteLLMRoad):
    """Completions of texts."""

    async def reply(self, text: str, **options: Any) -> Any:
        return await self.router.atext_completion("greeter", text, **options)

    def text_of(self, reply: Any) -> str:
        return str(reply.choices[0].text)

    def piece_of(self, chunk: Any) -> str | None:
        piece: str | None = chunk.choices[0].text
        return piece


class ResponsesRoad(LiteLLMRoad):
    """Responses."""

    limit = "max_output_tokens"

    async def reply(self, text: str, **options: Any) -> Any:
        return await self.router.aresponses(model="greeter", input=text, **options)

    def text_of(self, reply: Any) -> str:
        return str(reply.output[0].content[0].text)

    def piece_of(self, chunk: Any) -> str | None:
        piece: str | None = getattr(chunk, "delta", None)
        return piece


ROADS = {"acompletion": LiteLLMRoad, "atext_completion": TextRoad, "aresponses": ResponsesRoad}


@pytest.fixture
def kind() -> str:
    """The kind of calls."""
    return "acompletion"


@pytest.fixture
def road_of(door: Door, kind: str) -> Iterator[Callable[..., LiteLLMRoad]]:
    def make(*, retries: int = 0, wait_s: float = 0, lease_s: float = 4, **options: Any) -> LiteLLMRoad:
        options |= {"path": door.path, "wait_s": wait_s, "lease_s": lease_s}
        litellm.callbacks = [PurserLogger(door.purser, **options)]
        road = ROADS[kind]
        params = {"model": f"openai/{MODEL}", "api_base": door.api_base, "api_key": "none", road.limit: OUTPUT}
        return road(params, {"num_retries": retries, "retry_after": 0})

    yield make
    litellm.callbacks = []


@pytest.fixture
def left_stream() -> int:
    """The estimate, which the lease charges: LiteLLM tells nobody that its caller is gone."""
    return OUTPUT


@pytest.fixture
def abandoned() -> dict[str, Any]:
    """A lease that ends at once: the test waits for it."""
    return {"lease_s": 1}


@pytest.fixture
async def client_of(door: Door) -> AsyncIterator[Callable[..., LiteLLMRoad]]:
    async with httpx.AsyncClient(event_hooks={"request": [door.note]}, timeout=60) as http:

        def make(**more: str) -> LiteLLMRoad:
            named = {"api_base": address("openai/v1"), "api_key": KEY, "extra_headers": headers(door, more)}
            return LiteLLMRoad({"model": f"openai/{MODEL}", "max_tokens": OUTPUT, **named})

        litellm.in_memory_llm_clients_cache.flush_cache()
        litellm.aclient_session = http
        yield make
        litellm.aclient_session = None
        litellm.in_memory_llm_clients_cache.flush_cache()
