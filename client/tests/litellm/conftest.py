"""LiteLLM, with a Router around the provider of the tests."""

import os
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # else its import looks for prices on the network

import litellm
import pytest
from doors import MODEL, Door
from table import OUTPUT

from purser_client.litellm import PurserLogger


@dataclass
class LiteLLMRoad:
    """Calls of a Router."""

    door: Door
    retries: int = 0

    @property
    def params(self) -> dict[str, Any]:
        """Of a call without a Router."""
        return {"model": f"openai/{MODEL}", "api_base": self.door.api_base, "api_key": "none", "max_tokens": OUTPUT}

    @property
    def router(self) -> litellm.Router:
        return litellm.Router(
            [{"model_name": "greeter", "litellm_params": self.params}], num_retries=self.retries, retry_after=0
        )

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
        return LiteLLMRoad(door, retries)

    yield make
    litellm.callbacks = []


@pytest.fixture
def left_stream() -> int:
    """The estimate, which the lease charges: LiteLLM tells nobody that its caller is gone."""
    return OUTPUT
