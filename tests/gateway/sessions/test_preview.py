"""`GET /v1/sessions/{id}/window` of a session with a running task: it returns what the model is sent."""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import httpx
import pytest
from temporalio.client import Client

from purser.activities.models.provider import ModelProvider, Timeouts
from purser.compose.demo.provider import Match
from purser.compose.settings import Settings
from purser.context.compression.summaries import Method, Summary
from purser.context.conversation.messages import Message
from purser.context.postgres.conversation.pins import Pins
from purser.context.postgres.conversation.summaries import Summaries
from purser.context.postgres.sessions.preferences import PersonalSettings
from purser.gateway.access.roles import Role
from tests.gateway.conftest import RunningGateway
from tests.support.actors import ADA
from tests.support.agents import MODEL
from tests.support.context.conversations import calling, result, talk
from tests.support.runs.proof import some
from tests.support.world import TENANT, World, calls, world

LONG = 80
ROOMY, TIGHT = 50_000, 1_600
"""Tokens of an agent: more than all its session takes, and less."""
LONG_HISTORY = {"history_window_size": 1_000}
"""No background compression: windows are previewed during the call."""


FRUITLESS = "insert into compression_health (tenant, session_id, thread, fruitless_seq) values ($1, 's1', '', 1000)"
"""Prevents a background compression from changing a window."""


@pytest.fixture
async def house(
    settings: Settings, own_gateway: RunningGateway, temporal_client: Client, task_queue: str
) -> AsyncIterator[World]:
    """A worker and a provider in addition to the gateway."""
    assert settings.dsn is not None
    async with world(settings.dsn, temporal_client, task_queue) as made:
        # A request that is held back sends nothing while a window is read.
        provider = ModelProvider({}, Timeouts(silence_s=60))
        await provider.warm_up()
        made.dependencies = replace(made.dependencies, provider=provider)
        async with made.worker():
            yield made


@pytest.fixture
async def client(own_gateway: RunningGateway) -> httpx.AsyncClient:
    """Somebody who looks."""
    return await own_gateway.client(Role.VIEWER, TENANT)


async def say(house: World) -> None:
    """A long session with tool calls, a pin, and personal settings."""
    steps = [Message("user", "Look it up."), calling("c1", "c2"), result("c2"), result("c1"), *talk(6)]
    await house.conversations.append(TENANT, "s1", [*talk(LONG), *steps], origin="talk")
    await Pins(house.pool).pin(TENANT, "s1", 12, author=ADA)
    await PersonalSettings(house.pool).set_for_session(TENANT, "s1", {"diet": "no peanuts"}, by=ADA)


async def sent(
    house: World, client: httpx.AsyncClient, limit: int, **context: str
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """What the first call of a task is sent besides instructions, and the window of its session meanwhile."""
    house.provider.control.hold(Match())
    agent = house.agent("a", budget={"limit_tokens": limit, "mode": "hard"})
    task_id = await house.submit(
        agent, session_id="s1", context={"history_window_size": 1_000} | context, input="What was order 1010 about?"
    )
    async with asyncio.timeout(60):
        await house.provider.control.wait_held()
    plan = await house.pool.fetchval("select plan from calls where task_id = $1", task_id)
    query = {"budget": plan["budget"], "model": MODEL} | context
    answer = await client.get("/v1/sessions/s1/window", params=query)
    house.provider.control.continue_held()
    assert (await house.end(task_id))["status"] == "completed"
    request = json.loads(house.provider.served()[-1].arrival.text or "")
    assert answer.status_code == httpx.codes.OK, answer.text
    prompt = [Message.parse(one).to_openai() for one in request["messages"] if one["role"] != "system"]
    return prompt, answer.json()


CASES = [
    (ROOMY, False, {"strategy": "three_part"}),
    (ROOMY, True, {"strategy": "three_part"}),
    (ROOMY, False, {"strategy": "sliding_window"}),
    (ROOMY, False, {"strategy": "auto", "preference": "fast"}),
    (TIGHT, False, {"strategy": "token_truncation"}),
    (TIGHT, True, {"strategy": "token_truncation"}),
    (TIGHT, False, {"strategy": "smart_truncation"}),
    (TIGHT, False, {"strategy": "auto", "preference": "fast"}),
    (TIGHT, False, {"strategy": "summary"}),
    (TIGHT, True, {"strategy": "three_part"}),
    (TIGHT, False, {"strategy": "hybrid"}),
]


@pytest.mark.parametrize(
    ("limit", "covered", "context"),
    some(CASES, 4),
    ids=lambda value: "-".join(value.values()) if isinstance(value, dict) else str(value),
)
async def test_the_window_of_a_session_is_what_the_call_of_a_task_is_sent(
    house: World, client: httpx.AsyncClient, limit: int, covered: bool, context: dict[str, str]
) -> None:
    await say(house)
    if covered:
        summary = Summary(1, 4, 40, "Orders were noted.", Method.EXTRACTIVE, "k1", 1_000, 100, "digest")
        assert await Summaries(house.pool).store(TENANT, "s1", "", summary)
        await house.pool.execute(FRUITLESS, TENANT)
    prompt, window = await sent(house, client, limit, **context)
    assert [Message.parse(one).to_openai() for one in window["messages"]] == prompt
    assert any("no peanuts" in one["content"] for one in prompt)
    assert not covered or window["summary_version"] >= 1
    assert ("Retrieved for the next user message" in str(prompt)) == (context["strategy"] == "hybrid")
    whole = limit == ROOMY and not covered and context["strategy"] != "sliding_window"
    assert whole == (not window["dropped"] and not window["summarised"])


@pytest.mark.parametrize("limit", [ROOMY, TIGHT])
async def test_the_windows_of_session_and_thread_are_what_a_later_turn_is_sent(
    house: World, client: httpx.AsyncClient, limit: int
) -> None:
    """After a tool call: the session, then the agent's own thread with the result that waits for an answer."""
    await say(house)
    house.provider.control.hold(Match(text="no tool of this name"))
    agent = house.agent(
        "a", calls("invented"), "Done.", budget={"limit_tokens": 2 * limit, "mode": "hard"}, instructions="Be brief."
    )
    context = {"history_window_size": 1_000, "strategy": "three_part", "token_budget_per_agent": 2 * limit}
    task_id = await house.submit(agent, session_id="s1", context=context, input="What was order 1010 about?")
    async with asyncio.timeout(60):
        await house.provider.control.wait_held()
    [plan] = await house.pool.fetchval("select array_agg(plan) from calls where task_id = $1 and turn = 2", task_id)
    own = plan["own"]["tokens"]
    windows = [
        await client.get("/v1/sessions/s1/window", params={"model": MODEL, "strategy": "three_part"} | where)
        for where in ({"budget": plan["budget"] - own}, {"budget": plan["budget"], "thread": f"{task_id}/a"})
    ]
    house.provider.control.continue_held()
    assert (await house.end(task_id))["status"] == "completed"
    request = json.loads(house.provider.served()[-1].arrival.text or "")
    prompt = [Message.parse(one).to_openai() for one in request["messages"] if one["role"] != "system"]
    session, thread = ([Message.parse(one).to_openai() for one in each.json()["messages"]] for each in windows)
    assert [one["role"] for one in prompt[-2:]] == ["assistant", "tool"]
    assert session + [one for one in thread if one["role"] != "user"] == prompt
    assert (limit == ROOMY) == (not windows[0].json()["dropped"] and not windows[0].json()["summarised"])
