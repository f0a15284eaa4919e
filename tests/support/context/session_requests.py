"""Requests to `/v1/sessions`."""

from typing import Any

import httpx

from tests.support.context.conversations import talk

S1 = "/v1/sessions/s1"
TALK: list[dict[str, Any]] = [message.to_dict() for message in talk(6)]


async def append(client: httpx.AsyncClient, *messages: dict[str, Any], path: str = S1, **body: Any) -> dict[str, Any]:
    """Appends; returns the answer."""
    answer = await client.post(f"{path}/messages", json={"messages": messages, **body})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def problem(answer: httpx.Response, status: int, slug: str, named: str = "") -> dict[str, Any]:
    """The problem in a response."""
    found: dict[str, Any] = answer.json()
    assert (answer.status_code, found.get("type")) == (status, f"urn:purser:{slug}"), found
    assert named in found["detail"], found
    return found
