"""An agent of ADK in a workflow."""

import os
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.integrations.openai import OpenAILlm
from google.adk.models import LLMRegistry
from google.adk.runners import InMemoryRunner
from google.genai import types
from temporalio import workflow
from temporalio.contrib.workflow_streams import WorkflowStream
from temporalio.google_adk import GoogleAdkPlugin, TemporalModel
from temporalio.workflow import ActivityConfig

from purser_client.temporal import budget_path

with workflow.unsafe.imports_passed_through():
    from doors import MODEL
    from openai import AsyncOpenAI
    from roads import HELLO
    from table import OUTPUT
    from temporal_worker import OF_A_CALL


class Loopback(OpenAILlm):
    """The model of the provider of the tests, by name."""

    def __init__(self, model: str) -> None:
        address = f"{os.environ['PROVIDER']}/v1"
        super().__init__(model=model, client=AsyncOpenAI(base_url=address, max_retries=0))

    @classmethod
    def supported_models(cls) -> list[str]:
        return ["gpt-.*"]  # as the one that it stands for


@workflow.defn
class Greeting:
    """Runs an agent whose instruction is empty."""

    @workflow.init
    def __init__(self, path: list[str], streams: bool) -> None:
        self.stream = WorkflowStream()

    @workflow.run
    async def run(self, path: list[str], streams: bool) -> str:
        """Returns what it says."""
        agent = LlmAgent(
            name="greeter",
            model=TemporalModel(MODEL, ActivityConfig(**OF_A_CALL), streaming_topic="said"),
            generate_content_config=types.GenerateContentConfig(max_output_tokens=OUTPUT),
            before_model_callback=_without_instruction,
        )
        runner = InMemoryRunner(agent=agent, app_name="doors")
        session = await runner.session_service.create_session(app_name="doors", user_id="ana")
        said = ""
        with budget_path(*path):
            async for event in runner.run_async(
                user_id="ana",
                session_id=session.id,
                new_message=types.UserContent(HELLO),
                run_config=RunConfig(streaming_mode=StreamingMode.SSE if streams else StreamingMode.NONE),
            ):
                if event.content and bool(event.partial) is streams:
                    said += "".join(part.text or "" for part in event.content.parts or ())
        return said


def plugins() -> list[Any]:
    """Those of the framework."""
    LLMRegistry.register(Loopback)
    return [GoogleAdkPlugin()]


def _without_instruction(callback_context: Any, llm_request: Any) -> None:
    """Leaves out the name that ADK gives an agent, so that prompts are as long as the table says."""
    llm_request.config.system_instruction = None
