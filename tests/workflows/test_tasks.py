"""A task from its submission to its end."""

import asyncio
from typing import cast

import pytest
from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.workflowservice.v1 import ResetWorkflowExecutionRequest
from temporalio.client import WorkflowFailureError
from temporalio.exceptions import ActivityError, ApplicationError

from purser.compose.demo.provider import charged_tokens
from purser.workflows.agent_run import AgentRun
from purser.workflows.agent_task import AgentTask
from purser.workflows.contract import (
    AgentOutcome,
    AgentRef,
    AgentRunInput,
    AgentStatus,
    Message,
    TaskOutcome,
    TaskRef,
    TaskStatus,
)
from purser.workflows.steps import failure_type
from tests.support.world import TENANT, World, calls


async def test_a_graph_of_three_agents_completes_and_is_charged_what_the_provider_served(system: World) -> None:
    agents = (
        system.agent("left", "Left says so."),
        system.agent("right", "Right says so."),
        system.agent("judge", "Both are right.", depends_on=["left", "right"]),
    )
    task = await system.run(*agents)
    assert task["status"] == "completed"
    assert {name: agent["status"] for name, agent in task["agents"].items()} == dict.fromkeys(
        ("left", "right", "judge"), "completed"
    )
    assert task["agents"]["judge"]["reply"] == "Both are right."
    served = system.provider.served()
    assert len(served) == 3
    for name, agent in task["agents"].items():
        usage = agent["usage"]
        charged = sum(usage[kind] for kind in ("input", "cache_read", "output"))
        assert charged == charged_tokens(served, agent=name)
        assert (agent["turns"], agent["holds"], usage["estimated"]) == (1, 1, False)
    assert await system.spent(f"task:{task['task_id']}") == charged_tokens(served)
    await system.audited()


async def test_at_most_so_many_agents_run_at_the_same_time(idle: World) -> None:
    idle.dependencies = idle.with_settings(max_parallel_agents=2)
    idle.provider.control.hold(times=4)
    async with idle.worker():
        task_id = await idle.submit(*(idle.agent(f"a{number}") for number in range(4)))
        await idle.provider.control.wait_held(2)
        running = [agent["status"] for agent in (await idle.tasks.get(TENANT, task_id))["agents"].values()]
        assert sorted(running) == ["running", "running", "waiting", "waiting"]
        while (await idle.tasks.get(TENANT, task_id))["ended_at"] is None:
            idle.provider.control.continue_held()
            await asyncio.sleep(0.05)
    assert len(idle.provider.served()) == 4


async def test_a_terminated_task_still_ends_its_agents_in_good_order(system: World) -> None:
    system.provider.control.hold()
    task_id = await system.submit(system.agent("a"))
    await system.provider.control.wait_held()
    await system.workflow(task_id).terminate()
    await system.until(task_id, lambda task: task["agents"]["a"]["status"] == "cancelled")
    assert await system.open_holds() == 0


async def test_a_task_that_is_not_stored_fails_at_once(system: World) -> None:
    nobody = TaskRef(f"nobody-{system.task_queue}")
    with pytest.raises(WorkflowFailureError) as failure:
        await system.client.execute_workflow(AgentTask.run, nobody, id=nobody.workflow_id, task_queue=system.task_queue)
    assert failure_type(cast(ActivityError, failure.value.cause)) == "TaskNotFound"


async def test_the_status_query_returns_how_a_task_ended(system: World) -> None:
    task = await system.run(system.agent("a"))
    state = await system.workflow(task["task_id"]).query(Message.STATUS)
    assert (state["status"], state["agents"]) == ("completed", [{"agent_id": "a", "status": "completed"}])
    outcome = await system.workflow(task["task_id"]).result()
    assert (outcome["status"], outcome["agents"][0]["turns"]) == ("completed", 1)


@pytest.mark.parametrize("signal", [None, Message.RESUME], ids=["a start", "a signal with a start"])
async def test_a_task_that_has_ended_is_not_run_again_and_returns_its_outcome(
    system: World, signal: Message | None
) -> None:
    tools = system.agent("a", calls("unknown"), "Done.")
    poor = system.agent("poor", budget={"limit_tokens": 10, "mode": "hard"})
    task = await system.run(tools, poor, system.agent("heir", depends_on=["poor"]))
    ref = TaskRef(task["task_id"], TENANT)
    first = await system.workflow(ref.task_id).result()
    again = await system.client.start_workflow(
        AgentTask.run, ref, id=ref.workflow_id, task_queue=system.task_queue, start_signal=signal
    )
    outcome = await again.result()
    assert outcome == TaskOutcome(
        ref.task_id,
        TaskStatus.PARTIAL,
        (
            AgentOutcome("a", AgentStatus.COMPLETED, 2, "answered"),
            AgentOutcome("poor", AgentStatus.REFUSED, 0, "limit", f"agent:{ref.task_id}/poor"),
            AgentOutcome("heir", AgentStatus.SKIPPED, 0, "dependency"),
        ),
    )
    assert await system.workflow(ref.task_id).result() == first
    assert (await again.query(AgentTask.status)).agents[0].status is AgentStatus.COMPLETED
    assert len(system.provider.served()) == 2
    assert await system.tasks.get(TENANT, ref.task_id) == task


async def test_a_task_that_has_ended_and_is_reset_calls_no_model(system: World) -> None:
    task = await system.run(system.agent("a"), system.agent("b", depends_on=["a"]))
    ended = system.workflow(task["task_id"])
    described = await ended.describe()
    begun = [
        event.start_child_workflow_execution_initiated_event_attributes.workflow_task_completed_event_id
        for event in (await ended.fetch_history()).events
        if event.HasField("start_child_workflow_execution_initiated_event_attributes")
    ]
    reasons = []
    for event_id in begun:
        run = WorkflowExecution(workflow_id=ended.id, run_id=described.run_id)
        again = await system.client.workflow_service.reset_workflow_execution(
            ResetWorkflowExecutionRequest(
                namespace=system.client.namespace,
                workflow_execution=run,
                workflow_task_finish_event_id=event_id,
                request_id=f"{ended.id} {event_id}",
            )
        )
        outcome = await system.client.get_workflow_handle(ended.id, run_id=again.run_id).result()
        reasons.append([agent["reason"] for agent in outcome["agents"]])
    assert reasons == [["answered", "answered"], ["answered", "TaskEnded"]]
    assert len(system.provider.served()) == 2
    assert await system.tasks.get(TENANT, task["task_id"]) == task


async def test_a_workflow_under_another_id_is_refused_and_the_task_goes_on(system: World) -> None:
    system.provider.control.hold()
    task_id = await system.submit(system.agent("a", "Done."))
    await system.provider.control.wait_held()
    own = TaskRef(task_id, TENANT)
    agent = AgentRunInput(AgentRef(TENANT, task_id, "a"), max_turns=3)
    other, queue = f"mine-{task_id}", system.task_queue
    for starting in (
        system.client.execute_workflow(AgentTask.run, own, id=other, task_queue=queue),
        system.client.execute_workflow(AgentRun.run, agent, id=other, task_queue=queue),
    ):
        with pytest.raises(WorkflowFailureError) as failed:
            await starting
        refused = cast(ApplicationError, failed.value.cause)
        assert (refused.type, refused.non_retryable) == ("InvalidRequest", True)
        assert f"workflow '{own.workflow_id}' only" in refused.message
    system.provider.control.continue_held()
    task = await system.end(task_id)
    assert (task["status"], task["agents"]["a"]["reply"], task["agents"]["a"]["holds"]) == ("completed", "Done.", 1)
