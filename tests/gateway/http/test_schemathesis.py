"""The API conforms to its OpenAPI document: requests that it allows, and some that it forbids, with all roles in turn.

No request ends in a fault of the gateway, every status and content type is one that the document names, and every
answer fits its schema.
"""

import asyncio
from typing import Any

import pytest

from purser.gateway.access.roles import Role
from tests.gateway.conftest import RunningGateway


# Hypothesis takes the dice of the gateway, which runs in this process, for its own strategies'.
@pytest.mark.proof
@pytest.mark.filterwarnings("ignore:Do not use the `random` module inside strategies")
@pytest.mark.usefixtures("own_gateway")
async def test_the_document_is_true(gateway: RunningGateway, seed: int) -> None:
    from tests.gateway.http.conformance import fuzz

    known = await _something_of_everything(gateway)
    keys = {role: (await gateway.client(role, name=f"fuzz-{role}")).headers["Authorization"] for role in Role}
    await asyncio.to_thread(fuzz, gateway.url, keys, known, seed)


async def _something_of_everything(gateway: RunningGateway) -> dict[str, Any]:
    """Ids of things that exist, by the name of the parameter."""
    admin = await gateway.client(Role.ADMIN, name="ada")
    await admin.put("/v1/budgets/session:s2", json={"limit_tokens": 10, "mode": "approval"})
    short = {"key": "short", "path": ["session:s2"], "tokens": 50, "nano_usd": 0}
    open_hold = {"key": "open", "path": ["session:s1", "task:t1"], "tokens": 50, "nano_usd": 0}
    agent = {"id": "a", "model": "priced-model", "instructions": "Answer."}
    task = {"session_id": "s1", "task_id": "t1", "input": "Go.", "agents": [agent]}
    message = {"role": "user", "content": "Hello."}
    approval, hold, _, _, key = [
        (await admin.post(path, json=body, timeout=60)).json()
        for path, body in (
            ("/v1/holds", short),
            ("/v1/holds", open_hold),
            ("/v1/tasks", task),
            ("/v1/sessions/s1/messages", {"messages": [message], "user_id": "u1"}),
            ("/v1/keys", {"name": "other", "role": "viewer"}),
        )
    ]
    return {
        "approval_id": approval["approval_id"],
        "hold_id": hold["hold_id"],
        "key_id": key["key_id"],
        "scope": "session:s1",
        "seq": 1,
        "session_id": "s1",
        "task_id": "t1",
        "user_id": "u1",
    }
