"""Ceilings apply to the task files of agent keys."""

import httpx
import pytest

from purser.compose.settings import Settings


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.model_copy(
        update={"task_limit_ceiling_tokens": 10_000, "task_limit_ceiling_nano_usd": 10**9, "mode": "hard"}
    )


async def test_a_task_file_of_an_agent_key_cannot_lift_what_operators_set(
    agent: httpx.AsyncClient, admin: httpx.AsyncClient
) -> None:
    agents = [{"id": "a", "model": "priced-model", "instructions": "Be brief."}]
    file = {"session_id": "s1", "task_id": "t1", "input": "Go.", "agents": agents}
    for budget, setting in (
        ({"limit_tokens": 9_007_199_254_740_991}, "PURSER_TASK_LIMIT_CEILING_TOKENS"),
        ({"limit_usd": "1.01"}, "PURSER_TASK_LIMIT_CEILING_NANO_USD"),
        ({"mode": "soft"}, "PURSER_MODE"),
        ({"shadow": True}, "PURSER_MODE"),
    ):
        refused = await agent.post("/v1/tasks", json=file | {"budget": {"session": budget}})
        assert (refused.status_code, setting in refused.json()["detail"]) == (422, True), refused.text
    whole = file | {"budget": {"session": {"limit_tokens": 20_000, "limit_usd": "2", "mode": "soft"}}}
    assert (await admin.post("/v1/tasks", json=whole)).status_code == 202
