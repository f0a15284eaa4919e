"""A task over HTTP names only tools that the operator allows."""

from typing import Any

import httpx

from tests.gateway.conftest import RunningGateway


def task(**tool: str) -> dict[str, Any]:
    declared = {"name": "t", "description": "", "parameters": {}, **tool}
    agent = {"id": "a", "model": "priced-model", "instructions": "Do it.", "tools": [declared]}
    return {"session_id": "s1", "task_id": "t-tools", "input": "Go.", "agents": [agent]}


async def test_a_tool_that_is_not_allowed_is_refused_when_the_task_is_submitted(
    gateway: RunningGateway, agent: httpx.AsyncClient
) -> None:
    before = await gateway.rows()
    for tool, setting in (
        ({"activity": "payroll"}, "PURSER_TOOL_ACTIVITIES"),
        ({"activity": "tool_x", "task_queue": "payroll"}, "PURSER_TOOL_TASK_QUEUES"),
        ({"activity": "call_model"}, "belongs to the workflows"),
    ):
        answer = await agent.post("/v1/tasks", json=task(**tool))
        assert answer.status_code == 422
        assert setting in answer.json()["detail"]
    assert await gateway.rows() == before
