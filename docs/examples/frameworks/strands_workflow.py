"""Runs an agent of Strands in a workflow of Temporal: each call of the model is held before and settled after.

PURSER_URL, PURSER_API_KEY: the gateway, and a key of role `agent`. PURSER_TEMPORAL_ADDRESS: Temporal.
"""

import asyncio
import os
import sys
import uuid
from datetime import timedelta

from strands.models.openai import OpenAIModel
from temporalio import workflow
from temporalio.client import Client, WorkflowFailureError
from temporalio.exceptions import ActivityError
from temporalio.strands_agents import StrandsPlugin, TemporalAgent
from temporalio.worker import Worker

from purser_client import AsyncPurser
from purser_client.temporal import PurserPlugin, budget_path

# The provider of `make first`, which costs nothing.
PROVIDER = {
    "base_url": os.environ.get("PROVIDER", "http://127.0.0.1:4010/v1"),
    "api_key": "none",
    "max_retries": 0,  # Retries are Temporal's.
}


def small() -> OpenAIModel:
    """The model of the agent."""
    return OpenAIModel(client_args=PROVIDER, model_id="gpt-4o-mini", params={"max_tokens": 100})


@workflow.defn
class Greet:
    """Asks the agent for a greeting."""

    @workflow.run
    async def run(self, session_id: str) -> str:
        """Return what the agent says."""
        agent = TemporalAgent(model="small", start_to_close_timeout=timedelta(minutes=2))
        with budget_path(f"session:{session_id}"):
            return str(await agent.invoke_async("Say hello.")).strip()


async def main() -> str:
    """Run the workflow once."""
    async with AsyncPurser() as purser:
        framework = StrandsPlugin(models={"small": small})
        budget = PurserPlugin(purser)
        client = await Client.connect(os.environ["PURSER_TEMPORAL_ADDRESS"], plugins=[framework, budget])
        async with Worker(client, task_queue="greet-strands", workflows=[Greet]):
            try:
                said = await client.execute_workflow(
                    Greet.run, "chat-10", id=f"greet-strands-{uuid.uuid4()}", task_queue="greet-strands"
                )
            except WorkflowFailureError as failed:
                cause = failed.cause
                said = str(cause.cause if isinstance(cause, ActivityError) else cause)
    # Threads of the client briefly outlive its loop: a program that exits at once may crash (sdk-python#300).
    await asyncio.sleep(1)
    return said


if __name__ == "__main__":
    sys.stdout.write(asyncio.run(main()) + "\n")
