"""The table that `PurserPlugin` passes around the model activities of a framework, on a real Temporal server.

A folder of a framework offers the project of `temporal_worker`, and imports these tests.
"""

import time
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from doors import WORDS, Door, eventually
from table import OUTPUT, PROMPT
from temporal_worker import project_of, working
from temporalio.client import Client, WorkflowFailureError, WorkflowHandle
from temporalio.exceptions import ActivityError, ApplicationError


@dataclass
class Project:
    """Agents in workflows, whose worker comes and goes."""

    door: Door
    folder: str
    task_queue: str

    @asynccontextmanager
    async def working(self, **options: Any) -> AsyncIterator[Client]:
        """A worker in this process until the end of the block."""
        async with working(project_of(self.folder), self.door.purser, self.task_queue, **options) as client:
            self.door.sent.clear()
            yield client

    async def started(self, client: Client, *, streams: bool = False) -> WorkflowHandle[Any, str]:
        """Starts a workflow on the session of the test."""
        workflow = project_of(self.folder).Greeting.run
        arguments = [self.door.path, streams]
        return await client.start_workflow(workflow, args=arguments, id=str(uuid.uuid4()), task_queue=self.task_queue)

    async def says(self, **request: Any) -> str:
        """What the agent says."""
        async with self.working() as client:
            return await (await self.started(client, **request)).result()


@pytest.fixture
def project(door: Door, request: pytest.FixtureRequest) -> Project:
    return Project(door, request.path.parent.name, f"doors-{uuid.uuid4()}")


async def test_answer(door: Door, project: Project) -> None:
    await door.limit(5_000)
    assert "hello" in await project.says()
    [served] = await door.served()
    assert served["charged_tokens"] > PROMPT
    await door.is_charged(served["charged_tokens"])
    assert [path.rpartition("/")[2] for path in door.sent if "holds" in path] == ["holds", "attempts", "settle"]


async def test_stream(door: Door, project: Project) -> None:
    await door.limit(5_000)
    await door.script(rules=[{"reply": {"content": WORDS}, "chunks": 40}])
    assert await project.says(streams=True) == WORDS
    [served] = await door.served()
    assert served["arrival"]["stream"]
    await door.is_charged(PROMPT + 40)


async def test_a_reply_without_usage_is_charged_its_estimate(door: Door, project: Project) -> None:
    await door.script(rules=[{"reply": {"content": "hello"}, "report_usage": False}])
    assert await project.says() == "hello"
    await door.is_charged(PROMPT + OUTPUT)


@pytest.mark.parametrize("streams", [False, True], ids=["answer", "stream"])
async def test_a_cancelled_call_is_charged_its_estimate(door: Door, project: Project, streams: bool) -> None:
    await door.script(faults=[{"kind": "hang"}])
    async with project.working() as client:
        handle = await project.started(client, streams=streams)
        await door.arrived()
        await handle.cancel()
        [served] = await door.served()
    assert served["end"]["outcome"] == "client_gone"
    await door.is_charged(PROMPT + OUTPUT)


async def test_a_failure_that_cost_nothing_is_not_charged(door: Door, project: Project) -> None:
    await door.script(faults=[{"kind": "rate_limited", "retry_after_ms": 1}])
    assert "hello" in await project.says()
    refused, served = await door.served()
    assert refused["end"]["status"] == 429
    await door.is_charged(served["charged_tokens"])


async def test_a_failure_that_may_have_cost_something_is_charged_its_estimate(door: Door, project: Project) -> None:
    await door.script(faults=[{"kind": "drop"}])
    assert "hello" in await project.says()
    _, served = await door.served()
    await door.is_charged(PROMPT + OUTPUT, served["charged_tokens"])


async def test_a_refusal_ends_the_workflow_after_one_request(door: Door, project: Project) -> None:
    await door.limit(10)
    async with project.working() as client:
        with pytest.raises(WorkflowFailureError) as failed:
            await (await project.started(client)).result()
    refused = cause_of(failed.value)
    assert (refused.type, refused.non_retryable) == ("BudgetRefused", True)
    assert refused.details[0]["refusal"]["limit"]["tokens"] == 10
    assert door.sent == ["/v1/holds"]
    assert await door.served() == []
    await door.is_charged(0)


async def test_a_call_near_the_limit_is_warned_about_and_delayed(door: Door, project: Project) -> None:
    await door.limit(200, warn_at=[0.1], backpressure=[(0.1, 400)])
    held: dict[str, Any] = {}
    at: dict[str, float] = {}

    async def note(response: httpx.Response) -> None:
        step = response.request.url.path.rpartition("/")[2]
        at[step] = time.monotonic()
        if step == "holds":
            await response.aread()
            held.update(response.json())

    door.purser._http.event_hooks["response"].append(note)
    assert "hello" in await project.says()
    assert held["verdict"] == "warn"
    assert at["attempts"] - at["holds"] >= held["delay_ms"] / 1_000 > 0
    [served] = await door.served()
    await door.is_charged(served["charged_tokens"])


async def test_a_call_that_waits_goes_on_once_others_have_ended(door: Door, project: Project) -> None:
    await door.limit(100)
    async with project.working() as client:
        async with door.taken(90):
            handle = await project.started(client)
            waiting = await eventually(lambda: _failing(handle))
            assert waiting.type == "BudgetBusy"
            assert waiting.HasField("next_retry_delay")
            assert await door.served() == []
        assert "hello" in await handle.result()
    [served] = await door.served()
    await door.is_charged(served["charged_tokens"])


async def test_an_approval_is_awaited_by_the_attempt(door: Door, project: Project) -> None:
    await door.limit(10, mode="approval")
    async with project.working(approval_s=60) as client:
        handle = await project.started(client)
        await door.asked(2)
        assert await _failing(handle) is None
        await door.approve()
        assert "hello" in await handle.result()
    [served] = await door.served()
    await door.is_charged(served["charged_tokens"])


async def test_an_approval_is_awaited_over_several_attempts(door: Door, project: Project) -> None:
    await door.limit(10, mode="approval")
    async with project.working(approval_s=0, ask_again_s=0.1) as client:
        handle = await project.started(client)
        assert (await eventually(lambda: _failing(handle))).type == "ApprovalNeeded"
        await door.approve()
        assert "hello" in await handle.result()
    [served] = await door.served()
    await door.is_charged(served["charged_tokens"])


def cause_of(failed: WorkflowFailureError) -> ApplicationError:
    """The failure of the activity that has ended a workflow, under those of its framework."""
    seen: BaseException | None = failed
    while seen is not None and not (isinstance(seen, ActivityError) and isinstance(seen.cause, ApplicationError)):
        seen = seen.__cause__
    assert isinstance(seen, ActivityError)
    assert isinstance(seen.cause, ApplicationError)
    return seen.cause


async def _failing(handle: WorkflowHandle[Any, Any]) -> Any:
    """The failure after which an activity is tried again."""
    pending = (await handle.describe()).raw_description.pending_activities
    failures = [one.last_failure.application_failure_info for one in pending if one.attempt > 1]
    return next((one for one in failures if one.type), None)
