"""`call_model` with a real ledger and a real provider over HTTP, where two attempts of one call run at once."""

import asyncio
from typing import Any

import pytest
from temporalio.client import Client
from temporalio.testing import ActivityEnvironment

from purser.activities.runtime.registry import all_activities
from purser.compose.demo.provider import Match, Reply, Rule
from purser.workflows.contract import ActivityName, AdmitInput, AgentRef, CallInput, CallStatus
from tests.support.world import TENANT, World, named, world

# LiteLLM and its types warn of themselves at import and at first use.
pytestmark = pytest.mark.filterwarnings("ignore")


async def run(world: World, name: ActivityName, request: Any) -> Any:
    """Runs an activity outside of any workflow."""
    [activity] = [one for one in all_activities(world.dependencies) if named(one) == name]
    return await ActivityEnvironment().run(activity, request)


async def test_of_two_attempts_that_reply_the_first_is_stored_and_both_are_charged(dsn: str) -> None:
    unreachable = await Client.connect("127.0.0.1:1", lazy=True)
    async with world(dsn, unreachable, "no-worker", background=False) as made:
        control = made.provider.control
        control.add_rule(Rule(match=Match(attempt=1), reply=Reply(content="The reply of the first attempt.")))
        control.add_rule(Rule(match=Match(attempt=2), reply=Reply(content="What the second attempt says is longer.")))
        agent = AgentRef(TENANT, await made.submit(made.agent("a")), "a")
        admitted = await run(made, ActivityName.ADMIT, AdmitInput(agent, "k1", 1))
        call = CallInput(agent, "k1", admitted.hold_id, 1)
        control.hold(times=2)
        first = asyncio.create_task(run(made, ActivityName.CALL_MODEL, call))
        await control.wait_held(1)
        second = asyncio.create_task(run(made, ActivityName.CALL_MODEL, call))
        await control.wait_held(2)
        control.continue_held("1-1")
        replied = await first
        control.continue_held()
        assert replied.status is CallStatus.REPLIED
        assert await second == replied, "the reply of the first attempt, with its own usage"
        said = await made.conversations.read_thread(TENANT, f"s-{agent.task_id}", f"{agent.task_id}/a")
        assert [one.message.text for one in said] == ["The reply of the first attempt."]
        charged = sum(served.charged_tokens for served in made.provider.served())
        assert await made.spent(f"task:{agent.task_id}") == charged
        await made.audited()
