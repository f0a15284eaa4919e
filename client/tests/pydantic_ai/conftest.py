"""The model and the capability of pydantic-ai on the provider of the tests, and the proxy."""

from collections.abc import AsyncIterator, Callable, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

import pytest
from doors import MODEL, Door
from openai import AsyncOpenAI, DefaultAsyncHttpxClient
from proxy import KEY, address, headers
from pydantic_ai import Agent
from pydantic_ai.capabilities import ModelFallback
from pydantic_ai.models import Model
from pydantic_ai.models.fallback import FallbackModel
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.settings import ModelSettings
from table import OUTPUT

from purser_client.pydantic_ai import PurserCapability, PurserModel


@dataclass
class PydanticRoad:
    """An agent with the model, or with the capability."""

    model: Model
    capabilities: Sequence[Any] = ()

    @property
    def agent(self) -> Agent[None, str]:
        settings = ModelSettings(max_tokens=OUTPUT)
        return Agent(self.model, model_settings=settings, capabilities=self.capabilities)

    async def ask(self, text: str) -> str:
        return (await self.agent.run(text)).output

    async def stream(self, text: str) -> AsyncIterator[str]:
        async with self.agent.run_stream(text) as result:
            async for piece in result.stream_text(delta=True, debounce_by=None):
                yield piece


@pytest.fixture
async def wrapped(door: Door) -> AsyncIterator[Model]:
    """A model of the provider whose library would repeat requests."""
    async with AsyncOpenAI(base_url=door.api_base, max_retries=2) as client:
        yield OpenAIChatModel(MODEL, provider=OpenAIProvider(openai_client=client))


@pytest.fixture(params=[PurserModel, PurserCapability])
def road_of(door: Door, wrapped: Model, request: pytest.FixtureRequest) -> Callable[..., PydanticRoad]:
    def of_model(*, retries: int = 0, wait_s: float = 0, **options: Any) -> PydanticRoad:
        model = PurserModel(door.purser, wrapped, path=door.path, wait_s=wait_s, **options)
        return PydanticRoad(FallbackModel(model, *[model] * retries) if retries else model)

    def of_capability(*, retries: int = 0, wait_s: float = 0, **options: Any) -> PydanticRoad:
        budget = PurserCapability(door.purser, path=door.path, wait_s=wait_s, **options)
        again = [ModelFallback(*[copy(wrapped) for _ in range(retries)])] if retries else []
        return PydanticRoad(wrapped, [budget, *again])

    return of_model if request.param is PurserModel else of_capability


@pytest.fixture
async def client_of(door: Door) -> AsyncIterator[Callable[..., PydanticRoad]]:
    async with DefaultAsyncHttpxClient(event_hooks={"request": [door.note]}) as http:

        def make(**more: str) -> PydanticRoad:
            named = headers(door, more)
            client = AsyncOpenAI(base_url=address("openai/v1"), api_key=KEY, default_headers=named, http_client=http)
            return PydanticRoad(OpenAIChatModel(MODEL, provider=OpenAIProvider(openai_client=client)))

        yield make
