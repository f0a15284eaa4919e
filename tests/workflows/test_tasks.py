"""A task from its submission to its end."""

import asyncio
from typing import cast

import pytest
from temporalio.client import WorkflowFailureError
from temporalio.exceptions import ActivityError

from purser.compose.demo.provider import charged_tokens
from purser.workflows.contract import Message, TaskRef, WorkflowName
from purser.workflows.steps import failure_type
from tests.support.world import TENANT, World


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
    with pytest.raises(WorkflowFailureError) as failure:
        await system.client.execute_workflow(
            WorkflowName.AGENT_TASK, TaskRef("nobody"), id=f"task-{system.task_queue}", task_queue=system.task_queue
        )
    assert failure_type(cast(ActivityError, failure.value.cause)) == "TaskNotFound"


async def test_the_status_query_returns_how_a_task_ended(system: World) -> None:
    task = await system.run(system.agent("a"))
    state = await system.workflow(task["task_id"]).query(Message.STATUS)
    assert (state["status"], state["agents"]) == ("completed", [{"agent_id": "a", "status": "completed"}])
    outcome = await system.workflow(task["task_id"]).result()
    assert (outcome["status"], outcome["agents"][0]["turns"]) == ("completed", 1)
