"""A gateway, a provider on loopback of the test's own, and clients of `purser_client`."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass

import pytest
from openai import AsyncOpenAI, DefaultAsyncHttpxClient, DefaultHttpxClient, OpenAI

from purser.activities.models.litellm_library import litellm_library
from purser.compose.demo.provider import Provider, serve_provider
from purser.compose.settings import Settings
from purser.gateway.access.roles import Role
from purser.gateway.postgres.keys import Keys
from purser_client import AsyncPurser, BudgetBody, Patience, Purser
from tests.gateway.conftest import RunningGateway, on, reaching_with, running_gateway, serving
from tests.gateway.conftest import hook_port as hook_port
from tests.gateway.conftest import plain_settings as plain_settings
from tests.support.actors import TESTER
from tests.support.databases import Cleaners, WarmPools, create

MODEL = "gpt-4o"
PRICES = '{"gpt-4o": {"input_cost_per_token": 1e-06, "output_cost_per_token": 4e-06, "max_output_tokens": 4096}}'
PATH = ["session:s1"]
PATIENCE = Patience(timeout_s=60)


@dataclass
class World:
    """One gateway, one provider, and the clients of a test."""

    gateway: RunningGateway
    provider: Provider
    closing: AsyncExitStack
    _admin: AsyncPurser | None = None

    async def key(self, role: Role = Role.ADMIN) -> str:
        """A new key."""
        made = await Keys(self.gateway.pool).create("default", f"client-{uuid.uuid4()}", role, by=TESTER)
        return made.secret

    async def client(self, role: Role = Role.ADMIN, url: str = "") -> AsyncPurser:
        """A client to be awaited."""
        made = AsyncPurser(url or self.gateway.url, await self.key(role), patience=PATIENCE)
        return await self.closing.enter_async_context(made)

    async def plain(self, role: Role = Role.ADMIN) -> Purser:
        """A client that waits, for a thread."""
        return self.closing.enter_context(Purser(self.gateway.url, await self.key(role), patience=PATIENCE))

    async def openai(self) -> AsyncOpenAI:
        """A client of the provider. It reads no certificates, which takes longer than most requests."""
        made = AsyncOpenAI(
            base_url=self.provider.api_base,
            api_key="none",
            max_retries=0,
            http_client=DefaultAsyncHttpxClient(verify=False),
        )
        return await self.closing.enter_async_context(made)

    def plain_openai(self) -> OpenAI:
        """A client of the provider for a thread."""
        made = OpenAI(
            base_url=self.provider.api_base,
            api_key="none",
            max_retries=0,
            http_client=DefaultHttpxClient(verify=False),
        )
        return self.closing.enter_context(made)

    async def limit(self, tokens: int, **fields: object) -> None:
        """Limits the session."""
        admin = await self._own()
        await admin.budgets.change("session:s1", BudgetBody.model_validate({"limit_tokens": tokens} | fields))

    async def figures(self) -> tuple[int, int]:
        """Tokens of the session that are spent and held."""
        budget = await (await self._own()).budgets.show("session:s1")
        return budget.tokens.spent, budget.tokens.held

    async def _own(self) -> AsyncPurser:
        """The client with which a test looks."""
        self._admin = self._admin or await self.client()
        return self._admin

    def served_tokens(self) -> list[int]:
        """What the provider charged for each request so far."""
        return [one.charged_tokens for one in self.provider.served()]


@pytest.fixture
async def provider() -> AsyncIterator[Provider]:
    async with serve_provider() as running:
        yield running


@pytest.fixture(scope="session")
def client_settings(plain_settings: Settings, tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """Settings of every gateway of these tests, without a database and ports."""
    prices = tmp_path_factory.mktemp("prices") / "prices.json"
    prices.write_text(PRICES)
    return plain_settings.model_copy(update={"price_file": prices})


@pytest.fixture(scope="session")
def common_settings(
    client_settings: Settings, postgres_server: str, template: str, worker_id: str
) -> Iterator[Settings]:
    """Settings of the gateway of all these tests."""
    with serving(client_settings, asyncio.run(create(postgres_server, f"client_{worker_id}", template))) as settings:
        yield settings


@pytest.fixture
async def world(
    common_settings: Settings, cleaners: Cleaners, warm_pools: WarmPools, provider: Provider
) -> AsyncIterator[World]:
    """The gateway of all these tests, without a row in its database."""
    assert common_settings.dsn is not None
    async with (
        cleaners.emptied(common_settings.dsn, numbers=False),
        reaching_with(common_settings, await warm_pools.of(common_settings.dsn)) as gateway,
        AsyncExitStack() as closing,
    ):
        yield World(gateway, provider, closing)


@pytest.fixture
async def own_world(client_settings: Settings, dsn: str, task_queue: str, provider: Provider) -> AsyncIterator[World]:
    """A gateway of the test's own, which starts tasks of the test's database on the test's queue."""
    litellm_library()  # or a worker imports it, which on a busy machine takes longer than a test waits
    with on(client_settings, dsn, task_queue) as settings:
        async with running_gateway(settings) as gateway, AsyncExitStack() as closing:
            yield World(gateway, provider, closing)
