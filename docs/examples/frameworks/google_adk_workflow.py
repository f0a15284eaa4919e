"""Runs an agent of Google ADK in a workflow of Temporal: each call of the model is held before and settled after.

PURSER_URL, PURSER_API_KEY: the gateway, and a key of role `agent`. PURSER_TEMPORAL_ADDRESS: Temporal.
"""

import asyncio
import os
import sys
import uuid
from datetime import timedelta

# ADK imports it in the first call of a workflow otherwise, which takes longer than Temporal lets a workflow compute.
import google.adk.models.google_llm  # noqa: F401
from google.adk.agents import LlmAgent
from google.adk.integrations.openai import OpenAILlm
from google.adk.models import LLMRegistry
from google.adk.runners import InMemoryRunner
from openai import AsyncOpenAI
from temporalio import workflow
from temporalio.client import Client, WorkflowFailureError
from temporalio.exceptions import ActivityError
from temporalio.google_adk import GoogleAdkPlugin, TemporalModel
from temporalio.worker import Worker
from temporalio.workflow import ActivityConfig

from purser_client import AsyncPurser
from purser_client.temporal import PurserPlugin, budget_path


class Small(OpenAILlm):  # type: ignore[misc]
    """A model of the provider of `make first`, which costs nothing. Those of Google need no class."""

    def __init__(self, model: str) -> None:
        address = os.environ.get("PROVIDER", "http://127.0.0.1:4010/v1")
        # Retries are Temporal's.
        super().__init__(model=model, client=AsyncOpenAI(base_url=address, api_key="none", max_retries=0))


@workflow.defn
class Greet:
    """Asks the agent for a greeting."""

    @workflow.run
    async def run(self, session_id: str) -> str:
        """Return what the agent says."""
        config = ActivityConfig(start_to_close_timeout=timedelta(minutes=2), heartbeat_timeout=timedelta(seconds=30))
        agent = LlmAgent(name="greeter", model=TemporalModel("gpt-4o-mini", config), instruction="Be brief.")
        with budget_path(f"session:{session_id}"):
            events = await InMemoryRunner(agent=agent).run_debug("Say hello.", quiet=True)
        return "".join(part.text or "" for part in events[-1].content.parts)


async def main() -> str:
    """Run the workflow once."""
    async with AsyncPurser() as purser:
        LLMRegistry.register(Small)
        budget = PurserPlugin(purser)
        client = await Client.connect(os.environ["PURSER_TEMPORAL_ADDRESS"], plugins=[GoogleAdkPlugin(), budget])
        async with Worker(client, task_queue="greet-adk", workflows=[Greet]):
            try:
                said = await client.execute_workflow(
                    Greet.run, "chat-11", id=f"greet-adk-{uuid.uuid4()}", task_queue="greet-adk"
                )
            except WorkflowFailureError as failed:
                cause = failed.cause
                said = str(cause.cause if isinstance(cause, ActivityError) else cause)
    # Threads of the client briefly outlive its loop: a program that exits at once may crash (sdk-python#300).
    await asyncio.sleep(1)
    return said


if __name__ == "__main__":
    sys.stdout.write(asyncio.run(main()) + "\n")
