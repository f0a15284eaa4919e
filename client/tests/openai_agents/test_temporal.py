"""The provider inside the framework's own plugin for Temporal, on a real server."""

import os
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
from agents import Agent, ModelSettings, OpenAIProvider, Runner
from temporalio import workflow
from temporalio.client import Client, WorkflowFailureError, WorkflowHandle
from temporalio.common import RetryPolicy
from temporalio.exceptions import ActivityError, ApplicationError
from temporalio.openai_agents import ModelActivityParameters, OpenAIAgentsPlugin
from temporalio.worker import Worker

from purser_client.openai_agents import PurserProvider
from purser_client.temporal import PurserPlugin, budget_path

with workflow.unsafe.imports_passed_through():
    from doors import MODEL, Door, eventually
    from roads import HELLO
    from table import OUTPUT


@workflow.defn
class Greeting:
    """Runs an agent in a workflow."""

    @workflow.run
    async def run(self, path: list[str]) -> str:
        """Returns what it says."""
        agent = Agent[None]("greeter", model=MODEL, model_settings=ModelSettings(max_tokens=OUTPUT))
        with budget_path(*path):
            return str((await Runner.run(agent, HELLO)).final_output)


@dataclass
class Project:
    """A worker of the framework, with both plugins."""

    door: Door
    client: Client
    queue: str

    async def start(self) -> WorkflowHandle[Greeting, str]:
        """Starts a workflow on the session of the test."""
        return await self.client.start_workflow(
            Greeting.run, self.door.path, id=str(uuid.uuid4()), task_queue=self.queue
        )


@asynccontextmanager
async def working(
    door: Door, inner: OpenAIProvider, *, activities: frozenset[str] = frozenset(), **options: Any
) -> AsyncIterator[Project]:
    """A worker until the end of the block."""
    retries = RetryPolicy(initial_interval=timedelta(milliseconds=50), backoff_coefficient=1)
    framework = OpenAIAgentsPlugin(
        model_params=ModelActivityParameters(start_to_close_timeout=timedelta(minutes=2), retry_policy=retries),
        model_provider=PurserProvider(door.purser, inner, **options),
    )
    purser = PurserPlugin(door.purser, activities=activities, ask_again_s=0.1)
    client = await Client.connect(os.environ["PURSER_TEMPORAL_ADDRESS"], plugins=[framework, purser])
    queue = f"doors-{uuid.uuid4()}"
    # With an id of its own, the worker does not read every module of the framework to make one.
    async with Worker(client, task_queue=queue, workflows=[Greeting], build_id="doors"):
        yield Project(door, client, queue)


async def failed_with(handle: WorkflowHandle[Any, Any]) -> ApplicationError:
    """The failure of the activity that has ended a workflow."""
    with pytest.raises(WorkflowFailureError) as failed:
        await handle.result()
    assert isinstance(failed.value.cause, ActivityError)
    assert isinstance(failed.value.cause.cause, ApplicationError)
    return failed.value.cause.cause


async def test_an_agent_of_a_workflow_is_charged_on_the_path_of_the_workflow(
    door: Door, openai_provider: OpenAIProvider
) -> None:
    await door.limit(5_000)
    async with working(door, openai_provider) as project:
        assert "hello" in await (await project.start()).result()
    [served] = await door.served()
    await door.is_charged(served["charged_tokens"])


async def test_a_refusal_ends_the_workflow_after_one_request(door: Door, openai_provider: OpenAIProvider) -> None:
    await door.limit(10)
    door.sent.clear()
    async with working(door, openai_provider) as project:
        refused = await failed_with(await project.start())
    assert (refused.type, refused.non_retryable) == ("BudgetRefused", True)
    assert refused.details[0]["refusal"]["limit"]["tokens"] == 10
    assert door.sent == ["/v1/holds"]
    assert await door.served() == []


async def test_a_busy_budget_and_an_approval_become_later_attempts(door: Door, openai_provider: OpenAIProvider) -> None:
    await door.limit(100, mode="approval")
    async with working(door, openai_provider, wait_s=0) as project:
        async with door.taken(90):
            handle = await project.start()
            assert await eventually(lambda: failing(handle)) in ("BudgetBusy", "ApprovalNeeded")
            assert await door.served() == []
        assert "hello" in await handle.result()
    [served] = await door.served()
    await door.is_charged(served["charged_tokens"])


async def test_an_approval_is_awaited_over_several_attempts(door: Door, openai_provider: OpenAIProvider) -> None:
    await door.limit(10, mode="approval")
    async with working(door, openai_provider) as project:
        handle = await project.start()
        assert await eventually(lambda: failing(handle)) == "ApprovalNeeded"
        await door.approve()
        assert "hello" in await handle.result()
    [served] = await door.served()
    await door.is_charged(served["charged_tokens"])


async def test_a_failed_attempt_is_charged_and_the_next_one_is_a_call_of_its_own(
    door: Door, openai_provider: OpenAIProvider
) -> None:
    await door.script(faults=[{"kind": "drop"}])
    async with working(door, openai_provider) as project:
        assert "hello" in await (await project.start()).result()
    _, served = await door.served()
    await door.is_charged(9 + OUTPUT, served["charged_tokens"])


async def test_no_call_is_held_twice(door: Door, openai_provider: OpenAIProvider) -> None:
    door.sent.clear()
    async with working(door, openai_provider, activities=frozenset({"invoke_model_activity"})) as project:
        handle = await project.start()
        assert await eventually(lambda: failing(handle)) == "PurserError"
        await handle.terminate()
    assert await door.served() == []


async def failing(handle: WorkflowHandle[Any, Any]) -> str | None:
    """The type of the failure after which an activity is tried again."""
    pending = (await handle.describe()).raw_description.pending_activities
    found = [one.last_failure.application_failure_info.type for one in pending if one.attempt > 1]
    return next((one for one in found if one), None)
