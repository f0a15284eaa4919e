"""Compressions outside of tasks draw on the tags of the key that asks for them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest

from purser.compose.demo.provider import Provider, serve_provider
from purser.compose.processes.worker import run_worker
from purser.compose.settings import Settings
from tests.gateway.conftest import RunningGateway
from tests.support.context.conversations import talk
from tests.support.context.session_requests import append
from tests.support.world import eventually

TAG = "tag:team=search"


@pytest.fixture
async def provider() -> AsyncIterator[Provider]:
    async with serve_provider() as running:
        yield running


@pytest.fixture
def settings(settings: Settings, provider: Provider) -> Settings:
    """Compressions by themselves, written by a model on loopback."""
    more = {
        "allowed_api_bases": (provider.address,),
        "compress_sessions": True,
        "summarizer": "openai/gpt-4o",
        "summarizer_api_base": provider.api_base_of("none", "writer"),
    }
    return settings.model_copy(update=more)


@pytest.fixture
async def bot(gateway: RunningGateway, admin: httpx.AsyncClient) -> httpx.AsyncClient:
    """A client whose key has a tag."""
    made = (await admin.post("/v1/keys", json={"name": "bot", "role": "agent", "tags": {"team": "search"}})).json()
    return await gateway.with_secret(made["key"])


@asynccontextmanager
async def working(settings: Settings) -> AsyncIterator[None]:
    """A worker on the gateway's queue, until the end of the block."""
    stop = asyncio.Event()
    running = asyncio.create_task(run_worker(settings, stop, lambda: None))
    try:
        yield
    finally:
        stop.set()
        await running


async def compressed(client: httpx.AsyncClient, session_id: str, how: str) -> dict[str, Any]:
    """The summary of a conversation that is compressed on request, or by itself after an append.

    Each test needs a session of its own, after which the workflow is named: it may outlive the worker.
    """
    path = f"/v1/sessions/{session_id}"
    said = [message.to_dict() for message in talk(60)]
    if how == "request":
        await append(client, *said[:40], path=path)
        answer = await client.post(f"{path}/compress", json={"budget": 400}, timeout=60)
        assert answer.json()["version"] == 1, answer.text
    else:
        await append(client, *said, path=path)

    async def versions() -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = (await client.get(f"{path}/summaries")).json()["summaries"]
        return found

    [version] = await eventually(versions)
    return version


async def spent(client: httpx.AsyncClient, scope: str) -> int:
    """Tokens charged to a scope."""
    shown: dict[str, Any] = (await client.get(f"/v1/budgets/{scope}")).json()
    return int(shown["tokens"]["spent"])


@pytest.mark.parametrize("how", ["request", "soft_mark"])
async def test_a_compression_over_http_is_charged_to_the_tags_of_its_key(
    settings: Settings,
    admin: httpx.AsyncClient,
    bot: httpx.AsyncClient,
    provider: Provider,
    task_queue: str,
    how: str,
) -> None:
    await admin.put(f"/v1/budgets/{TAG}", json={"limit_tokens": 1_000_000, "mode": "hard"})
    async with working(settings):
        assert (await compressed(bot, task_queue, how))["trigger"] == how
    assert provider.served(), "a model was asked"
    charged = await spent(admin, TAG)
    assert charged == await spent(admin, f"session:{task_queue}") > 0
    usage = (await admin.get("/v1/usage", params={"by": "tag"})).json()["items"]
    assert [(row["id"], row["charged_tokens"]) for row in usage] == [("team=search", charged)]
    entries = (await admin.get("/v1/ledger", params={"scope": TAG})).json()["items"]
    assert sum(entry["moved"]["tokens"]["spent"] for entry in entries) == charged


@pytest.mark.parametrize("how", ["request", "soft_mark"])
async def test_a_tag_without_room_lets_no_model_write_the_summary(
    settings: Settings,
    admin: httpx.AsyncClient,
    bot: httpx.AsyncClient,
    provider: Provider,
    task_queue: str,
    how: str,
) -> None:
    await admin.put(f"/v1/budgets/{TAG}", json={"limit_tokens": 1, "mode": "hard"})
    async with working(settings):
        assert (await compressed(bot, task_queue, how))["method"] == "extractive"
    assert provider.served() == ()
    assert await spent(admin, f"session:{task_queue}") == 0


async def test_a_compression_asked_with_another_key_has_no_tags(
    settings: Settings, admin: httpx.AsyncClient, agent: httpx.AsyncClient, provider: Provider, task_queue: str
) -> None:
    await admin.put(f"/v1/budgets/{TAG}", json={"limit_tokens": 1, "mode": "hard"})
    async with working(settings):
        await compressed(agent, task_queue, "request")
    assert provider.served()
    assert await spent(admin, TAG) == 0 < await spent(admin, f"session:{task_queue}")
