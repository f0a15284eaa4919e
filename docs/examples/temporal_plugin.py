"""Puts a workflow of your own under a budget: every attempt of its model activity is held before and settled after.

PURSER_URL, PURSER_API_KEY: the gateway, and a key of role `agent`. PURSER_TEMPORAL_ADDRESS: Temporal.
"""

import asyncio
import os
import sys
import uuid
from datetime import timedelta
from typing import Any

from temporalio import activity, workflow
from temporalio.client import Client, WorkflowFailureError
from temporalio.exceptions import ActivityError
from temporalio.worker import Worker

from purser_client import AsyncPurser
from purser_client.temporal import PurserPlugin, budget_path

with workflow.unsafe.imports_passed_through():
    import openai

PROVIDER = os.environ.get("PROVIDER", "http://127.0.0.1:4010/v1")


@activity.defn
async def ask_model(request: dict[str, Any]) -> dict[str, Any]:
    """Calls the model once. Retries are Temporal's."""
    async with openai.AsyncOpenAI(base_url=PROVIDER, api_key="none", max_retries=0) as provider:
        reply = await provider.chat.completions.create(**request)
    answer: dict[str, Any] = reply.model_dump(mode="json")
    return answer


@workflow.defn
class Greet:
    """Asks the model for a greeting."""

    @workflow.run
    async def run(self, session_id: str) -> str:
        """Return what the model says."""
        messages = [{"role": "user", "content": "Say hello."}]
        request = {"model": "gpt-4o-mini", "messages": messages, "max_tokens": 100}
        with budget_path(f"session:{session_id}"):
            reply = await workflow.execute_activity(
                ask_model, request, start_to_close_timeout=timedelta(minutes=2), heartbeat_timeout=timedelta(seconds=30)
            )
        return str(reply["choices"][0]["message"]["content"])


async def main() -> str:
    """Run the workflow once."""
    async with AsyncPurser() as purser:
        plugin = PurserPlugin(purser, activities={"ask_model"})
        client = await Client.connect(os.environ["PURSER_TEMPORAL_ADDRESS"], plugins=[plugin])
        async with Worker(client, task_queue="greet", workflows=[Greet], activities=[ask_model]):
            try:
                said = await client.execute_workflow(
                    Greet.run, "chat-3", id=f"greet-{uuid.uuid4()}", task_queue="greet"
                )
            except WorkflowFailureError as failed:
                cause = failed.cause
                said = str(cause.cause if isinstance(cause, ActivityError) else cause)
    # Threads of the client briefly outlive its loop: a program that exits at once may crash (sdk-python#300).
    await asyncio.sleep(1)
    return said


if __name__ == "__main__":
    sys.stdout.write(asyncio.run(main()) + "\n")
