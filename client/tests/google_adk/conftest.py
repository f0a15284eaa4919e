"""Agents of ADK on the provider of the tests."""

from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

import pytest
from doors import MODEL, Door
from google.adk.agents import LlmAgent
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.integrations.openai import OpenAILlm
from google.adk.models import BaseLlm, FallbackModel
from google.adk.runners import InMemoryRunner
from google.genai import types
from openai import APIConnectionError, AsyncOpenAI
from table import OUTPUT

from purser_client.google_adk import PurserLlm


@dataclass
class AdkRoad:
    """An agent whose instruction is empty. ADK goes on after a status; who runs it, after a lost connection."""

    model: BaseLlm
    retries: int = 0
    agent_options: dict[str, Any] = field(default_factory=dict)

    async def ask(self, text: str) -> str:
        for _ in range(self.retries):
            try:
                return "".join([piece async for piece in self._said(text, StreamingMode.NONE)])
            except APIConnectionError:
                pass
        return "".join([piece async for piece in self._said(text, StreamingMode.NONE)])

    async def stream(self, text: str) -> AsyncIterator[str]:
        async with aclosing(self._said(text, StreamingMode.SSE)) as pieces:
            async for piece in pieces:
                yield piece

    async def _said(self, text: str, mode: StreamingMode) -> AsyncIterator[str]:
        models = [self.model] * (self.retries + 1)
        agent = LlmAgent(
            name="greeter",
            model=FallbackModel(models=models) if self.retries else self.model,
            generate_content_config=types.GenerateContentConfig(max_output_tokens=OUTPUT),
            before_model_callback=_without_instruction,
            **self.agent_options,
        )
        runner = InMemoryRunner(agent=agent, app_name="doors")
        session = await runner.session_service.create_session(app_name="doors", user_id="ana")
        events = runner.run_async(
            user_id="ana",
            session_id=session.id,
            new_message=types.UserContent(text),
            run_config=RunConfig(streaming_mode=mode),
        )
        async with aclosing(events):
            async for event in events:
                if event.content and bool(event.partial) is (mode is StreamingMode.SSE):
                    yield "".join(part.text or "" for part in event.content.parts or ())


def _without_instruction(callback_context: Any, llm_request: Any) -> None:
    """Leaves out the name that ADK gives an agent, so that prompts are as long as the table says."""
    llm_request.config.system_instruction = None


@pytest.fixture
async def inner(door: Door) -> AsyncIterator[BaseLlm]:
    async with AsyncOpenAI(base_url=door.api_base, max_retries=0) as client:
        yield OpenAILlm(model=MODEL, client=client)


@pytest.fixture
def road_of(door: Door, inner: BaseLlm) -> Callable[..., AdkRoad]:
    def make(*, retries: int = 0, wait_s: float = 0, **options: Any) -> AdkRoad:
        return AdkRoad(PurserLlm(door.purser, inner, path=door.path, wait_s=wait_s, **options), retries)

    return make
