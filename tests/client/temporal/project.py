"""A project with a workflow and activities of its own. As a process it is its worker, which can be killed.

Arguments: address of Temporal, task queue, address of the gateway, API key.
"""

import asyncio
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

from temporalio import activity, workflow
from temporalio.client import Client
from temporalio.common import RetryPolicy
from temporalio.worker import Worker

from purser_client import AsyncPurser
from purser_client.temporal import PurserPlugin, budget_path

with workflow.unsafe.imports_passed_through():
    from openai import AsyncOpenAI, DefaultAsyncHttpxClient, DefaultHttpxClient, OpenAI

HEARTBEAT_S = 15
BEATS_S = 1
BUILD_ID = "project"
"""By default the SDK reads and hashes the code of all imported modules, for a second or more."""


@activity.defn
async def ask_model(request: dict[str, Any]) -> dict[str, Any]:
    """Calls the provider, with heartbeats of its own or without."""

    async def beat() -> None:
        while True:
            activity.heartbeat()
            await asyncio.sleep(BEATS_S)

    http = DefaultAsyncHttpxClient(verify=False)  # reading certificates would stop the event loop
    beating = asyncio.create_task(beat() if request.get("beats", True) else asyncio.sleep(0))
    try:
        async with AsyncOpenAI(
            base_url=request["api_base"], api_key="none", max_retries=0, http_client=http
        ) as provider:
            reply = await provider.chat.completions.create(
                model=request["model"], messages=request["messages"], max_tokens=request["max_tokens"]
            )
    finally:
        beating.cancel()
    answer = reply.model_dump(mode="json")
    return answer if request.get("reports", True) else {"choices": answer["choices"]}


@activity.defn
def ask_model_in_thread(request: dict[str, Any]) -> dict[str, Any]:
    """Calls the provider in a thread, without heartbeats."""
    http = DefaultHttpxClient(verify=False)
    with OpenAI(base_url=request["api_base"], api_key="none", max_retries=0, http_client=http) as provider:
        reply = provider.chat.completions.create(
            model=request["model"], messages=request["messages"], max_tokens=request["max_tokens"]
        )
    answer: dict[str, Any] = reply.model_dump(mode="json")
    return answer


@activity.defn
async def shout(text: str) -> str:
    """Calls no model."""
    return text.upper()


@workflow.defn
class Answering:
    """Asks the model, and shouts what it says."""

    @workflow.run
    async def run(self, request: dict[str, Any], path: list[str]) -> str:
        """Returns the answer."""
        with budget_path(*path):
            reply: dict[str, Any] = await workflow.execute_activity(
                "ask_model_in_thread" if request.get("in_thread") else "ask_model",
                request,
                start_to_close_timeout=timedelta(minutes=5),
                heartbeat_timeout=timedelta(seconds=request.get("heartbeat_s", HEARTBEAT_S)),
                retry_policy=RetryPolicy(initial_interval=timedelta(milliseconds=50), backoff_coefficient=1),
            )
        return await workflow.execute_activity(
            shout, reply["choices"][0]["message"]["content"], start_to_close_timeout=timedelta(minutes=1)
        )


def worker_of(client: Client, task_queue: str, plugin: PurserPlugin) -> Worker:
    """The worker of the project, with the plugin."""
    return Worker(
        client,
        task_queue=task_queue,
        workflows=[Answering],
        activities=[ask_model, ask_model_in_thread, shout],
        activity_executor=ThreadPoolExecutor(2),
        plugins=[plugin],
        build_id=BUILD_ID,
        max_heartbeat_throttle_interval=timedelta(seconds=BEATS_S),  # a heartbeat brings the news of a cancellation
    )


async def main(temporal: str, task_queue: str, gateway: str, key: str) -> None:
    """Works until it is killed."""
    async with AsyncPurser(gateway, key) as purser:
        plugin = PurserPlugin(purser, activities={"ask_model"})
        await worker_of(await Client.connect(temporal), task_queue, plugin).run()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
