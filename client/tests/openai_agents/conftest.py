"""The model of the OpenAI Agents SDK on the provider of the tests."""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any

import pytest
from agents import (
    Agent,
    ModelProvider,
    ModelRetryBackoffSettings,
    ModelRetrySettings,
    ModelSettings,
    OpenAIProvider,
    RunConfig,
    Runner,
    retry_policies,
)
from doors import MODEL, Door
from openai import AsyncOpenAI
from table import OUTPUT

from purser_client.openai_agents import PurserProvider


@dataclass
class AgentsRoad:
    """An agent whose runs have the provider in their `RunConfig`."""

    provider: ModelProvider
    retries: int = 0

    @property
    def agent(self) -> Agent[None]:
        policy = retry_policies.any(retry_policies.network_error(), retry_policies.http_status((429,)))
        backoff = ModelRetryBackoffSettings(initial_delay=0.01)
        retry = ModelRetrySettings(max_retries=self.retries, policy=policy, backoff=backoff)
        return Agent("greeter", model=MODEL, model_settings=ModelSettings(max_tokens=OUTPUT, retry=retry))

    @property
    def config(self) -> RunConfig:
        return RunConfig(model_provider=self.provider, tracing_disabled=True)

    async def ask(self, text: str) -> str:
        return str((await Runner.run(self.agent, text, run_config=self.config)).final_output)

    async def stream(self, text: str) -> AsyncIterator[str]:
        result = Runner.run_streamed(self.agent, text, run_config=self.config)
        try:
            async for event in result.stream_events():
                if event.type == "raw_response_event" and event.data.type == "response.output_text.delta":
                    yield event.data.delta
        finally:
            result.cancel()


@pytest.fixture
async def openai_provider(door: Door) -> AsyncIterator[OpenAIProvider]:
    async with AsyncOpenAI(base_url=door.api_base, max_retries=0) as client:
        yield OpenAIProvider(openai_client=client, use_responses=False)


@pytest.fixture
def road_of(door: Door, openai_provider: OpenAIProvider) -> Callable[..., AgentsRoad]:
    def make(*, retries: int = 0, wait_s: float = 0, **options: Any) -> AgentsRoad:
        budgeted = PurserProvider(door.purser, openai_provider, path=door.path, wait_s=wait_s, **options)
        return AgentsRoad(budgeted, retries)

    return make
