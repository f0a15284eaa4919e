"""Clients of a server whose tools cost money."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from doors import Door
from mcp import Client
from shop import PRICES, Clients, Shop

from purser_client.mcp import PaidTools


@pytest.fixture
def shop() -> Shop:
    return Shop()


@pytest.fixture
def client_of(door: Door, shop: Shop) -> Clients:
    """Makes a client, in this process, of a server whose paid tools have these options."""

    @asynccontextmanager
    async def made(**options: Any) -> AsyncIterator[Client]:
        held = {"path": door.path, "wait_s": 0, **options}
        async with Client(shop.server(PaidTools(door.purser, PRICES, **held))) as client:
            yield client

    return made
