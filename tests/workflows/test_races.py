"""Races: a pause while an agent starts or continues as new, an update at the end of a task."""

import asyncio
from typing import Any

from temporalio import activity, workflow
from temporalio.client import Client
from temporalio.client import Interceptor as ClientInterceptor
from temporalio.worker import (
    Interceptor,
    StartChildWorkflowInput,
    WorkflowInboundInterceptor,
    WorkflowInterceptorClassInput,
    WorkflowOutboundInterceptor,
)

from purser.workflows.contract import ActivityName, ApprovalDecision, DecisionInput, DecisionResult, Message
from tests.support.world import World, calls, eventually


async def stays_paused_after_its_first_call(idle: World) -> None:
    """A task that is paused during its agent's first call makes no second one until it is resumed."""
    task_id = await idle.submit_and_pause(idle.agent("a", calls("nothing"), "Done."))
    assert len(idle.provider.served()) == 1
    await idle.workflow(task_id).signal(Message.RESUME)
    assert (await idle.end(task_id))["status"] == "completed"


async def test_an_agent_that_continues_as_new_while_it_is_paused_stays_paused(idle: World) -> None:
    idle.dependencies = idle.with_settings(turns_per_run=1)
    async with idle.worker():
        await stays_paused_after_its_first_call(idle)


class _SlowStart(WorkflowInboundInterceptor):
    """Returns the child workflow of an agent only once its task is paused."""

    def init(self, outbound: WorkflowOutboundInterceptor) -> None:
        class Outbound(WorkflowOutboundInterceptor):
            async def start_child_workflow(self, input: StartChildWorkflowInput) -> Any:
                handle = await super().start_child_workflow(input)
                task: Any = workflow.instance()
                await workflow.wait_condition(lambda: task._paused)
                return handle

        super().init(Outbound(outbound))


class SlowStart(ClientInterceptor, Interceptor):
    """Interceptor of a worker whose tasks are paused while their agents start."""

    def workflow_interceptor_class(self, input: WorkflowInterceptorClassInput) -> type[WorkflowInboundInterceptor]:
        return _SlowStart


async def test_an_agent_whose_task_is_paused_while_it_starts_is_paused(idle: World) -> None:
    config: dict[str, Any] = {**idle.client.config(), "interceptors": [SlowStart()]}
    idle.client = Client(**config)
    async with idle.worker():
        await stays_paused_after_its_first_call(idle)


async def test_a_decision_that_is_being_recorded_when_the_task_ends_is_answered(idle: World) -> None:
    began, ended = asyncio.Event(), asyncio.Event()

    @activity.defn(name=ActivityName.RECORD_DECISION)
    async def slow(request: DecisionInput) -> DecisionResult:
        began.set()
        await ended.wait()
        return DecisionResult(request.decision.approval_id, "pending", error="not_found")

    idle.provider.control.hold()
    async with idle.worker(slow):
        task_id = await idle.submit(idle.agent("a"))
        await idle.provider.control.wait_held()
        decision = ApprovalDecision("apr-1", "d1", "approve", "ana")
        update = asyncio.create_task(
            idle.workflow(task_id).execute_update(Message.DECIDE_APPROVAL, decision, result_type=DecisionResult)
        )
        await began.wait()
        idle.provider.control.continue_held()
        await eventually(lambda: went_on_after_closing(idle, task_id))
        ended.set()
        assert (await update).error == "not_found"


async def went_on_after_closing(world: World, task_id: str) -> bool:
    """Whether the workflow of a task has seen that the task was closed."""
    events = (await world.workflow(task_id).fetch_history()).events
    return any(
        ActivityName.CLOSE_TASK.encode() in payload.data
        for event in events
        for payload in event.marker_recorded_event_attributes.details["data"].payloads
    )
