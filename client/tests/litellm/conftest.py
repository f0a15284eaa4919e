"""LiteLLM, with a Router around the provider of the tests, or around the proxy."""

import os
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

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
    """Calls of a Router."""

    params: dict[str, Any]
    """Of a call without a Router."""
    repeats: dict[str, int] = field(default_factory=dict)
    """How often the Router repeats a request, if not as by default."""

    @property
    def router(self) -> litellm.Router:
        return litellm.Router([{"model_name": "greeter", "litellm_params": self.params}], **self.repeats)

    async def ask(self, text: str) -> str:
        reply = await self.router.acompletion("greeter", [{"role": "user", "content": text}])
        return str(reply.choices[0].message.content)

    async def stream(self, text: str) -> AsyncIterator[str]:
        chunks = await self.router.acompletion("greeter", [{"role": "user", "content": text}], stream=True)
        async with aclosing(chunks):
            async for chunk in chunks:
                if piece := chunk.choices[0].delta.content:
                    yield piece


@pytest.fixture
def road_of(door: Door) -> Iterator[Callable[..., LiteLLMRoad]]:
    def make(*, retries: int = 0, wait_s: float = 0, lease_s: float = 4, **options: Any) -> LiteLLMRoad:
        options |= {"path": door.path, "wait_s": wait_s, "lease_s": lease_s}
        litellm.callbacks = [PurserLogger(door.purser, **options)]
        params = {"model": f"openai/{MODEL}", "api_base": door.api_base, "api_key": "none", "max_tokens": OUTPUT}
        return LiteLLMRoad(params, {"num_retries": retries, "retry_after": 0})

    yield make
    litellm.callbacks = []


@pytest.fixture
def left_stream() -> int:
    """The estimate, which the lease charges: LiteLLM tells nobody that its caller is gone."""
    return OUTPUT


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
