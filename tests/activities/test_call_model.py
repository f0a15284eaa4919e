"""`call_model` with a real ledger and a real provider over HTTP."""

import asyncio
import json
from typing import Any

import pytest
from temporalio.client import Client
from temporalio.testing import ActivityEnvironment

from purser.activities.runtime.registry import all_activities
from purser.compose.demo.provider import Match, Reply, Rule
from purser.workflows.contract import ActivityName, AdmitInput, AgentRef, CallInput, CallStatus
from tests.support.ledger import somebody_waits
from tests.support.servers.raw_server import raw_server, streams
from tests.support.world import TENANT, World, eventually, named, world

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
        control.continue_held(f"{admitted.hold_id}-1")
        replied = await first
        control.continue_held()
        assert replied.status is CallStatus.REPLIED
        assert await second == replied, "the reply of the first attempt, with its own usage"
        said = await made.conversations.read_thread(TENANT, f"s-{agent.task_id}", f"{agent.task_id}/a")
        assert [one.message.text for one in said] == ["The reply of the first attempt."]
        charged = sum(served.charged_tokens for served in made.provider.served())
        assert await made.spent(f"task:{agent.task_id}") == charged
        await made.audited()


async def test_an_attempt_is_charged_once_though_the_provider_closes_its_connection_while_it_starts(dsn: str) -> None:
    said = {"choices": [{"index": 0, "delta": {"content": "Good day."}, "finish_reason": "stop"}]}
    used = {"choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 20, "total_tokens": 30}}
    answer = streams(b"".join(b"data: %b\n\n" % json.dumps({"id": "1"} | chunk).encode() for chunk in (said, used)))
    unreachable = await Client.connect("127.0.0.1:1", lazy=True)
    async with (
        raw_server(answer, keeps=True) as server,
        world(dsn, unreachable, "no-worker", background=False) as made,
    ):
        agents = [made.agent(name, api_base=server.api_base) for name in ("a", "b")]
        task_id = await made.submit(*agents)

        async def admitted(name: str) -> CallInput:
            agent = AgentRef(TENANT, task_id, name)
            return CallInput(agent, name, (await run(made, ActivityName.ADMIT, AdmitInput(agent, name, 1))).hold_id, 1)

        await run(made, ActivityName.CALL_MODEL, await admitted("a"))
        call = await admitted("b")
        async with made.pool.acquire() as other, other.transaction():
            await other.execute("select from holds where key = 'b' for update")
            calling = asyncio.create_task(run(made, ActivityName.CALL_MODEL, call))
            await eventually(lambda: somebody_waits(made.pool))
            await server.hang_up()
        assert (await calling).status is CallStatus.REPLIED
        assert (len(server.requests), await made.spent(f"task:{task_id}")) == (2, 60)
        await made.audited()
