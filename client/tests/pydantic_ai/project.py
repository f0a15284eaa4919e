"""An agent of pydantic-ai in a workflow."""

import os
from collections.abc import AsyncIterable
from typing import Any

from pydantic_ai import Agent
from pydantic_ai.durable_exec.temporal import PydanticAIPlugin, PydanticAIWorkflow, TemporalDurability
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from temporalio import workflow

from purser_client.temporal import budget_path

with workflow.unsafe.imports_passed_through():
    from doors import MODEL
    from openai import AsyncOpenAI
    from roads import HELLO
    from table import OUTPUT
    from temporal_worker import OF_A_CALL


async def read(_: Any, events: AsyncIterable[Any]) -> None:
    """Reads a stream to its end."""
    async for _event in events:
        pass


def agent_of(name: str, *capabilities: Any, **options: Any) -> Agent[None, str]:
    """An agent whose model is called by an activity."""
    # The agents outlive the loop of a test, and so would connections that are kept.
    alone = {"Connection": "close"}
    client = AsyncOpenAI(base_url=f"{os.environ['PROVIDER']}/v1", api_key="none", max_retries=0, default_headers=alone)
    return Agent(
        OpenAIChatModel(MODEL, provider=OpenAIProvider(openai_client=client)),
        name=name,
        model_settings={"max_tokens": OUTPUT},
        capabilities=[*capabilities, TemporalDurability(model_activity_config=OF_A_CALL, **options)],
    )


GREETER, STREAMING = agent_of("greeter"), agent_of("streaming", event_stream_handler=read)


@workflow.defn
class Greeting(PydanticAIWorkflow):
    """Runs an agent."""

    __pydantic_ai_agents__ = (GREETER, STREAMING)

    @workflow.run
    async def run(self, path: list[str], streams: bool) -> str:
        """Returns what it says."""
        with budget_path(*path):
            return (await (STREAMING if streams else GREETER).run(HELLO)).output


def plugins() -> list[Any]:
    """Those of the framework."""
    return [PydanticAIPlugin()]
