"""An agent of the OpenAI Agents SDK in a workflow."""

import os
from typing import Any

from agents import Agent, ModelSettings, OpenAIProvider, Runner
from openai import AsyncOpenAI
from temporalio import workflow
from temporalio.contrib.workflow_streams import WorkflowStream
from temporalio.openai_agents import ModelActivityParameters, OpenAIAgentsPlugin

from purser_client.temporal import budget_path

with workflow.unsafe.imports_passed_through():
    from doors import MODEL
    from roads import HELLO
    from table import OUTPUT
    from temporal_worker import OF_A_CALL


@workflow.defn
class Greeting:
    """Runs an agent."""

    @workflow.init
    def __init__(self, path: list[str], streams: bool) -> None:
        self.stream = WorkflowStream()

    @workflow.run
    async def run(self, path: list[str], streams: bool) -> str:
        """Returns what it says."""
        settings = ModelSettings(max_tokens=OUTPUT, include_usage=True)
        agent = Agent[None]("greeter", model=MODEL, model_settings=settings)
        with budget_path(*path):
            if not streams:
                return str((await Runner.run(agent, HELLO)).final_output)
            result = Runner.run_streamed(agent, HELLO)
            async for _ in result.stream_events():
                pass
            return str(result.final_output)


def plugins() -> list[Any]:
    """Those of the framework."""
    client = AsyncOpenAI(base_url=f"{os.environ['PROVIDER']}/v1", max_retries=0)
    return [
        OpenAIAgentsPlugin(
            model_params=ModelActivityParameters(streaming_topic="said", **OF_A_CALL),
            model_provider=OpenAIProvider(openai_client=client, use_responses=False),
        )
    ]
