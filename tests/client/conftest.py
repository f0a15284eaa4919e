"""A gateway with a database of the test's own, a provider on loopback, and clients of `purser_client`."""

import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest
from openai import AsyncOpenAI, OpenAI

from purser.compose.demo.provider import Provider, serve_provider
from purser.compose.settings import Settings
from purser.gateway.access.roles import Role
from purser.gateway.postgres.keys import Keys
from purser_client import AsyncPurser, BudgetBody, Patience, Purser
from tests.gateway.conftest import RunningGateway, on, running_gateway
from tests.gateway.conftest import hook_port as hook_port
from tests.gateway.conftest import plain_settings as plain_settings
from tests.support.actors import TESTER

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
        """A client of the provider."""
        made = AsyncOpenAI(base_url=self.provider.api_base, api_key="none", max_retries=0)
        return await self.closing.enter_async_context(made)

    def plain_openai(self) -> OpenAI:
        """A client of the provider for a thread."""
        made = OpenAI(base_url=self.provider.api_base, api_key="none", max_retries=0)
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


@pytest.fixture
def settings(plain_settings: Settings, dsn: str, task_queue: str, tmp_path: Path) -> Iterator[Settings]:
    prices = tmp_path / "prices.json"
    prices.write_text(PRICES)
    with on(plain_settings, dsn, task_queue) as made:
        yield made.model_copy(update={"price_file": prices})


@pytest.fixture
async def world(settings: Settings, provider: Provider) -> AsyncIterator[World]:
    async with running_gateway(settings) as gateway, AsyncExitStack() as closing:
        yield World(gateway, provider, closing)
