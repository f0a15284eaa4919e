"""Tool calls of stored replies: read by number and index, answered once."""

import json

from purser.gateway.access.roles import Role
from tests.gateway.conftest import RunningGateway
from tests.support.context.session_requests import problem

CALLS = "/v1/sessions/s1/messages/1/calls"


async def test_a_call_is_read_and_keeps_its_first_result(gateway: RunningGateway) -> None:
    agent = await gateway.client(Role.AGENT)
    functions = [{"name": "find", "arguments": json.dumps({"number": "4417"})}, {"name": "find", "arguments": "4417"}]
    made = [{"id": f"call-{index}", "type": "function", "function": one} for index, one in enumerate(functions)]
    message = {"role": "assistant", "content": None, "tool_calls": made}
    (await agent.post("/v1/sessions/s1/messages", json={"messages": [message]})).raise_for_status()

    assert (await agent.get(f"{CALLS}/0")).json() == {
        "name": "find",
        "call_id": "call-0",
        "arguments": {"number": "4417"},
    }
    assert (await agent.get(f"{CALLS}/1")).json()["arguments"] is None
    problem(await agent.get(f"{CALLS}/2"), 404, "not-found", "2 tool calls")

    first, second = [
        (await agent.put(f"{CALLS}/0/result", json={"text": text})).json() for text in ("Shipped.", "Lost.")
    ]
    assert first == second
    listed = (await agent.get("/v1/sessions/s1/messages")).json()["messages"]
    assert listed[-1]["seq"] == first["seq"]
    assert listed[-1]["message"] == {"role": "tool", "content": "Shipped.", "tool_call_id": "call-0"}
    assert len(listed) == 2
