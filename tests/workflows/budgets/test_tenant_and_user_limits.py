"""Limits of a tenant and of its users bind the calls of tasks, and compressions outside of tasks."""

import uuid
from dataclasses import replace

import pytest

from purser.budget.scopes import Kind, Scope, payers
from purser.context.conversation.messages import Message
from purser.context.postgres.conversation.conversations import Conversations
from purser.workflows.contract import CompressSessionInput
from tests.support.world import TENANT, World

OUTER = f"tenant:{TENANT}"
ONE_CALL = 130
"""More than the hold of one call, and less than a settled call and another hold."""


async def test_a_tenants_limit_stops_the_second_call_of_a_task(system: World) -> None:
    await system.budget(OUTER, limit_tokens=ONE_CALL, mode="hard")
    task = await system.run(system.agent("first"), system.agent("second", depends_on=["first"]))
    first, second = task["agents"]["first"], task["agents"]["second"]
    assert (first["status"], second["status"], second["scope"]) == ("completed", "refused", OUTER)
    assert await system.spent(OUTER) == sum(first["usage"][name] for name in ("input", "output"))
    await system.audited()


async def test_a_users_limit_counts_over_all_sessions_of_the_user(system: World) -> None:
    await system.budget("user:ana", limit_tokens=ONE_CALL, mode="hard")
    one = await system.run(system.agent("a"), session_id="s1", user_id="ana")
    two = await system.run(system.agent("a"), session_id="s2", user_id="ana")
    other = await system.run(system.agent("a"), session_id="s3", user_id="bob")
    assert [task["status"] for task in (one, two, other)] == ["completed", "refused", "completed"]
    assert two["agents"]["a"]["scope"] == "user:ana"
    await system.audited()


async def test_the_tags_and_models_of_a_task_bind_its_agents_and_sub_agents(system: World) -> None:
    await system.budget("tag:team=search", limit_tokens=ONE_CALL, mode="hard")
    first, sub = system.agent("first"), system.agent("sub", depends_on=["first"], parent="first")
    await system.budget(f"model:{first['model']}", limit_tokens=10_000)
    task = await system.run(first, sub, tags={"team": "search"})
    refused = task["agents"]["sub"]
    assert (refused["status"], refused["scope"]) == ("refused", "tag:team=search")
    assert refused["refusal"]["limit"]["tokens"] == ONE_CALL
    assert task["tags"] == {"team": "search"}
    assert await system.spent("tag:team=search") == await system.spent(f"model:{first['model']}") > 0
    other = await system.run(system.agent("a"))
    assert other["status"] == "completed"
    await system.audited()


async def test_a_task_that_names_no_user_draws_on_the_user_of_its_session(system: World) -> None:
    await system.conversations.append(TENANT, "owned", [Message("user", "Hello.")], origin="o", user_id="ana")
    task = await system.run(system.agent("a"), session_id="owned")
    assert task["user_id"] == "ana"
    assert await system.spent("user:ana") == await system.spent("session:owned") > 0


@pytest.mark.parametrize("user_id", ["", "ana"])
async def test_a_compression_that_no_task_asks_for_counts_on_session_user_and_tenant(idle: World, user_id: str) -> None:
    session_id = f"long-{uuid.uuid4().hex[:8]}"
    said = [Message(("user", "assistant")[n % 2], f"Sentence {n} tells about topic {n}. " * 8) for n in range(60)]
    await Conversations(idle.pool).append(TENANT, session_id, said, origin="talk", user_id=user_id or None)
    writer = idle.provider.api_base_of("none", "writer")
    idle.dependencies = replace(idle.dependencies, summarizer_model="openai/gpt-4o", summarizer_api_base=writer)
    start = CompressSessionInput(tenant=TENANT, session_id=session_id, budget_tokens=1_000)
    done = await idle.compress(start)
    assert done.version == 1
    scopes = [*payers(TENANT, user_id), Scope(Kind.SESSION, session_id)]
    paths = {tuple(row["path"]) for row in await idle.pool.fetch("select path from holds where views is not null")}
    assert paths == {tuple(map(str, scopes))}
    assert len({await idle.spent(str(scope)) for scope in scopes}) == 1
    assert await idle.spent(OUTER) > 0
    await idle.audited()
