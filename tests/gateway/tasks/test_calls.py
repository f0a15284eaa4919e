"""`/v1/tasks/{task_id}/calls`: the calls of a task and what each of them saw."""

from typing import Any

import httpx
import pytest

from tests.gateway.conftest import RunningGateway
from tests.support.calls import PLAN, plan_calls

pytestmark = pytest.mark.usefixtures("temporal_client")


@pytest.fixture
async def task_id(agent: httpx.AsyncClient, gateway: RunningGateway, task_queue: str) -> str:
    """A task with five calls."""
    body: dict[str, Any] = {
        "session_id": "s1",
        "task_id": f"t-{task_queue[5:]}",
        "input": "Compare.",
        "agents": [{"id": "reader", "model": "priced-model", "instructions": "Read."}],
    }
    assert (await agent.post("/v1/tasks", json=body)).is_success
    await plan_calls(gateway.pool, "reader", body["task_id"], 5)
    return str(body["task_id"])


async def test_drops_of_a_live_call_are_shown_with_states_reasons_versions_and_stats(
    agent: httpx.AsyncClient, task_id: str
) -> None:
    answer = await agent.get(f"/v1/tasks/{task_id}/calls/{task_id}-k2/window")
    assert answer.status_code == 200
    seen = answer.json()
    assert (seen["agent_id"], seen["turn"], seen["strategy"], seen["recall"]) == ("reader", 2, "three_part", False)
    assert (seen["budget"], seen["prompt_tokens"]) == (9_000, PLAN.prompt_tokens)
    assert {part["state"] for part in seen["parts"]} == {"verbatim", "summary", "dropped", "clipped", "cleared"}
    covered = next(part for part in seen["parts"] if part["state"] == "summary")
    assert (covered["first_seq"], covered["last_seq"], covered["version"]) == (3, 30, 3)
    clipped = next(part for part in seen["parts"] if part["part"] == "agent" and part["state"] == "clipped")
    assert (clipped["first_seq"], clipped["tokens"], clipped["original_tokens"]) == (45, 599, 9_000)


async def test_stats_of_a_live_call_state_what_was_saved_and_why(agent: httpx.AsyncClient, task_id: str) -> None:
    seen = (await agent.get(f"/v1/tasks/{task_id}/calls/{task_id}-k1/window")).json()
    assert seen["optimization_applied"] is True
    assert seen["tokens_saved"] == PLAN.whole_tokens - PLAN.tokens
    assert seen["strategy_reason"] == "much is old"


async def test_calls_are_listed_newest_first_page_by_page_by_agent_and_turn(
    agent: httpx.AsyncClient, task_id: str
) -> None:
    pages: list[list[int]] = []
    asked: dict[str, str | int] = {"limit": 2}
    while not pages or asked["cursor"]:
        page = (await agent.get(f"/v1/tasks/{task_id}/calls", params=asked)).json()
        pages.append([one["turn"] for one in page["items"]])
        asked["cursor"] = page["cursor"]
    assert pages == [[5, 4], [3, 2], [1]]
    [only] = (await agent.get(f"/v1/tasks/{task_id}/calls", params={"agent": "reader", "turn": 3})).json()["items"]
    assert only["call"] == f"{task_id}-k3"
    assert (await agent.get(f"/v1/tasks/{task_id}/calls", params={"agent": "writer"})).json()["items"] == []


async def test_a_call_of_another_task_or_an_unknown_cursor_is_a_problem(agent: httpx.AsyncClient, task_id: str) -> None:
    for path in (f"{task_id}/calls/none/window", f"other/calls/{task_id}-k1/window", "other/calls"):
        assert (await agent.get(f"/v1/tasks/{path}")).status_code == 404
    wrong = await agent.get(f"/v1/tasks/{task_id}/calls", params={"cursor": "bm90IGEgdGltZQ"})
    assert wrong.status_code == 422
