"""Agents whose budget is used up answer once more, from what it reserves for that."""

import pytest

from purser.activities.calls.closing import CONCLUDE
from purser.budget.gate import Amount
from purser.budget.holds import HoldRequest
from purser.budget.scopes import Path
from purser.compose.demo.provider import Fault, FaultKind
from purser.workflows.contract import Message
from tests.support.world import TENANT, World, calls, eventually
from tests.workflows.budgets.test_approvals import asked

PADDING = "word " * 100


@pytest.fixture
async def thrifty(idle: World) -> World:
    """A world in which a reply of ten tokens is worth a call."""
    idle.dependencies = idle.with_settings(min_output_tokens=10)
    return idle


async def test_an_agent_whose_limit_is_used_up_answers_from_the_reserve(thrifty: World) -> None:
    agent = thrifty.agent(
        "a", calls("unknown", text=PADDING), "So far so good.", max_output_tokens=300,
        budget={"limit_tokens": 500, "mode": "hard", "last_answer": 0.5},
    )  # fmt: skip
    async with thrifty.worker():
        task = await thrifty.run(agent)
    ended = task["agents"]["a"]
    assert (task["status"], task["reason"]) == ("completed", "budget")
    assert (ended["status"], ended["reason"], ended["reply"]) == ("completed", "budget", "So far so good.")
    assert ended["scope"] == f"agent:{task['task_id']}/a"
    first, last = thrifty.provider.served()
    assert [CONCLUDE in str(one.arrival.text) for one in (first, last)] == [False, True]
    assert await thrifty.spent(ended["scope"]) <= 500
    await thrifty.audited()


async def test_the_last_call_names_its_tools_and_tells_the_provider_to_call_none(thrifty: World) -> None:
    tool = {"name": "look_up", "description": "Looks up.", "parameters": {"type": "object", "properties": {}}}
    agent = thrifty.agent(
        "a", calls("unknown", text=PADDING), "So far so good.", max_output_tokens=300, tools=[tool],
        budget={"limit_tokens": 600, "mode": "hard", "last_answer": 0.5},
    )  # fmt: skip
    async with thrifty.worker():
        task = await thrifty.run(agent)
    assert task["agents"]["a"]["reply"] == "So far so good."
    first, last = (one.arrival for one in thrifty.provider.served())
    assert [first.tool_choice, last.tool_choice] == [None, "none"]
    assert all('"name": "look_up"' in str(one.text) for one in (first, last))


async def test_every_agent_of_a_task_answers_at_the_same_time_from_its_part_of_the_reserve(thrifty: World) -> None:
    agents = [thrifty.agent(name, calls("unknown", text=PADDING), "Enough.", max_output_tokens=300) for name in "abc"]
    async with thrifty.worker():
        task = await thrifty.run(*agents, budget={"task": {"limit_tokens": 1_500, "mode": "hard", "last_answer": 0.6}})
    assert {one["status"] for one in task["agents"].values()} == {"completed"}
    assert "budget" in {one["reason"] for one in task["agents"].values()}
    assert await thrifty.spent(f"task:{task['task_id']}") <= 1_500
    await thrifty.audited()


async def test_an_agent_that_a_person_denies_more_answers_from_the_reserve(thrifty: World) -> None:
    agent = thrifty.agent(
        "a", "In short.", budget={"limit_tokens": 120, "mode": "approval", "last_answer": 0.9}, max_output_tokens=20
    )
    async with thrifty.worker():
        task_id = await thrifty.submit(agent)
        decision = await thrifty.signed(await asked(thrifty, task_id), decision="deny")
        await thrifty.workflow(task_id).signal(Message.APPROVAL, decision)
        task = await thrifty.end(task_id)
    assert (task["agents"]["a"]["reason"], task["agents"]["a"]["reply"]) == ("budget", "In short.")
    await thrifty.audited()


async def test_a_last_call_that_waits_is_not_made_while_its_task_is_paused(thrifty: World) -> None:
    ask = HoldRequest("other", Path.parse(["session:shared"]), Amount(5_000))
    other = await thrifty.ledger.hold(TENANT, ask)
    agent = thrifty.agent(
        "a", calls("unknown", text=PADDING), "So far so good.", max_output_tokens=300,
        budget={"limit_tokens": 500, "mode": "hard", "last_answer": 0.5},
    )  # fmt: skip
    thrifty.provider.control.hold()
    async with thrifty.worker():
        task_id = await thrifty.submit(agent, session_id="shared")
        await thrifty.provider.control.wait_held()
        await thrifty.budget("session:shared", limit_tokens=5_100, mode="hard")
        thrifty.provider.control.continue_held()
        await eventually(lambda: thrifty.pool.fetchval("select max(asks) > 1 from waiters"))
        await thrifty.pause(task_id)
        await thrifty.ledger.release(TENANT, hold_id=other.hold_id)
        await thrifty.until(task_id, lambda task: task["agents"]["a"]["status"] in ("paused", "completed"))
        assert len(thrifty.provider.served()) == 1
        assert await thrifty.open_holds() == 0
        await thrifty.workflow(task_id).signal(Message.RESUME)
        ended = (await thrifty.end(task_id))["agents"]["a"]
    assert (ended["status"], ended["reason"], ended["reply"]) == ("completed", "budget", "So far so good.")
    await thrifty.audited()


async def test_an_agent_whose_last_call_fails_shows_the_refusal_that_led_to_it(thrifty: World) -> None:
    thrifty.dependencies = thrifty.with_settings(max_attempts=1)
    agent = thrifty.agent(
        "a", calls("unknown", text=PADDING), "So far so good.", max_output_tokens=300,
        budget={"limit_tokens": 500, "mode": "hard", "last_answer": 0.5},
    )  # fmt: skip
    thrifty.provider.control.hold()
    async with thrifty.worker():
        task_id = await thrifty.submit(agent)
        await thrifty.provider.control.wait_held()
        thrifty.provider.control.add_fault(Fault(kind=FaultKind.SERVER_ERROR))
        thrifty.provider.control.continue_held()
        ended = (await thrifty.end(task_id))["agents"]["a"]
    asks = await thrifty.pool.fetch("select tokens, refusal from calls order by created_at")
    _, refused, last = asks
    assert (ended["status"], ended["reason"], ended["scope"]) == ("refused", "limit", f"agent:{task_id}/a")
    assert (refused["refusal"] is not None, last["refusal"]) == (True, None)
    assert ended["refusal"]["scope"] == ended["scope"]
    assert ended["requested"] == refused["tokens"] != last["tokens"]


async def test_an_agent_is_refused_where_even_its_last_call_does_not_fit(thrifty: World) -> None:
    await thrifty.budget("session:dry", limit_tokens=10, mode="hard")
    agent = thrifty.agent("a", budget={"limit_tokens": 1_000, "mode": "hard", "last_answer": 0.5})
    async with thrifty.worker():
        task = await thrifty.run(agent, session_id="dry")
    ended = task["agents"]["a"]
    assert (task["status"], ended["reason"], ended["scope"]) == ("refused", "limit", "session:dry")
    assert thrifty.provider.served() == ()
    await thrifty.audited()
