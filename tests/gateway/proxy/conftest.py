"""A gateway whose proxy leads to a provider on loopback, and clients of OpenAI's library."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from openai import AsyncOpenAI
from openai.types.chat import ChatCompletionMessageParam

from purser.compose.demo.provider import Provider, serve_provider
from purser.compose.settings import Settings
from purser.compose.stack.ports import LOOPBACK
from purser.gateway.access.roles import Role
from tests.gateway.conftest import RunningGateway, on, running_gateway, serving
from tests.support.databases import create
from tests.support.servers.clients import plain_client
from tests.support.servers.ports import reserved_port

PRICES = '{"gpt-4o": {"input_cost_per_token": 1e-06, "output_cost_per_token": 4e-06, "max_output_tokens": 4096}}'
HELLO: list[ChatCompletionMessageParam] = [{"role": "user", "content": "hello there"}]


@pytest.fixture(scope="session")
def provider_port() -> Iterator[int]:
    """Of the one provider that requests may name."""
    with reserved_port() as port:
        yield port


@pytest.fixture
async def provider(provider_port: int) -> AsyncIterator[Provider]:
    async with serve_provider(port=provider_port) as running:
        yield running


@pytest.fixture(scope="session")
def proxy_settings(plain_settings: Settings, provider_port: int, tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """Settings of every gateway of these tests, without a database and ports."""
    prices = tmp_path_factory.mktemp("prices") / "prices.json"
    prices.write_text(PRICES)
    more = {"allowed_api_bases": (f"http://{LOOPBACK}:{provider_port}",), "price_file": prices}
    return plain_settings.model_copy(update=more)


@pytest.fixture(scope="session")
def common_settings(
    proxy_settings: Settings, postgres_server: str, template: str, worker_id: str
) -> Iterator[Settings]:
    """Settings of the gateway of all these tests."""
    with serving(proxy_settings, asyncio.run(create(postgres_server, f"proxy_{worker_id}", template))) as settings:
        yield settings


@pytest.fixture
async def own_gateway(proxy_settings: Settings, dsn: str, task_queue: str) -> AsyncIterator[RunningGateway]:
    """A gateway of the test's own, which has counted nothing."""
    with on(proxy_settings, dsn, task_queue) as settings:
        async with running_gateway(settings) as running:
            yield running


@dataclass
class Proxy:
    """Clients of one gateway's proxy."""

    gateway: RunningGateway
    provider: Provider
    requests: int = 0
    """HTTP requests that its clients have sent."""

    async def openai(self, role: Role = Role.AGENT, /, **headers: str) -> AsyncOpenAI:
        """OpenAI's client with a key of its own; headers as `purser_session="s1"`, empty ones are left out."""
        http = await self.gateway.client(role)
        key = http.headers["Authorization"].removeprefix("Bearer ")
        wanted = {"purser_api_base": self.provider.api_base} | headers
        named = {name.replace("_", "-"): value for name, value in wanted.items() if value}
        counted = await self.gateway.clients.enter_async_context(
            plain_client(event_hooks={"request": [self._count]}, timeout=60)
        )
        return AsyncOpenAI(
            base_url=f"{self.gateway.url}/openai/v1",
            api_key=key,
            default_headers=named,
            http_client=counted,
        )

    async def limited(self, **policy: Any) -> httpx.AsyncClient:
        """Sets the policy of the session `s1`, hard unless it says otherwise; returns an admin's client."""
        admin = await self.gateway.client(Role.ADMIN)
        (await admin.put("/v1/budgets/session:s1", json={"mode": "hard"} | policy)).raise_for_status()
        return admin

    async def spent(self) -> tuple[int, int]:
        """Tokens of the session `s1` that are spent and held."""
        admin = await self.gateway.client(Role.ADMIN)
        shown = (await admin.get("/v1/budgets/session:s1")).json()["tokens"]
        return shown["spent"], shown["held"]

    async def _count(self, _: httpx.Request) -> None:
        self.requests += 1


@pytest.fixture
def proxy(gateway: RunningGateway, provider: Provider) -> Proxy:
    return Proxy(gateway, provider)


@dataclass
class RawProvider:
    """A provider that answers each request with the bytes that a test gives it."""

    api_base: str
    status: bytes = b"200 OK"
    body: bytes = b""
    ends: bool = True
    """Whether the connection is closed after them; if not, it stays open until the client leaves."""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answers one request."""
        head = await reader.readuntil(b"\r\n\r\n")
        [length] = [int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
        await reader.readexactly(length)
        about = b"\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
        writer.write(b"HTTP/1.1 " + self.status + about + self.body)
        if not self.ends:
            await reader.read()
        writer.close()


@pytest.fixture
async def raw_provider(provider_port: int) -> AsyncIterator[RawProvider]:
    made = RawProvider(f"http://{LOOPBACK}:{provider_port}/v1")
    async with await asyncio.start_server(made.serve, LOOPBACK, provider_port):
        yield made
