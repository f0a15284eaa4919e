"""A session with a conversation."""

from typing import Any

import httpx
import pytest

from tests.support.context.conversations import talk
from tests.support.context.session_requests import append

TALK: list[dict[str, Any]] = [message.to_dict() for message in talk(60)]


@pytest.fixture
async def session(agent: httpx.AsyncClient) -> httpx.AsyncClient:
    """A client, after a conversation of sixty messages."""
    await append(agent, *TALK)
    return agent
