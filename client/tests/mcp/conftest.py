"""Clients of a server whose tools cost money."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Annotated, Any, Literal

import pytest
from doors import Door
from mcp import Client
from mcp.server import MCPServer
from mcp.server.mcpserver.resolve import Elicit, Resolve
from mcp.types import ElicitResult
from pydantic import BaseModel
from shop import PRICES, Clients, Shop

from purser_client.mcp import PaidTools


@pytest.fixture
def shop() -> Shop:
    return Shop()


class Answer(BaseModel):
    """What a caller says to a question."""

    sure: bool


def _question() -> Elicit[Answer]:
    return Elicit("Search?", Answer)


async def _search(query: str, answer: Annotated[Answer, Resolve(_question)]) -> str:
    return f"found {query}: {answer.sure}"


@pytest.fixture
def asked() -> Callable[..., Client]:
    """Makes a client that a server with these extensions asks before a search."""

    def make(action: Literal["accept", "decline"], *extensions: Any) -> Client:
        async def answer(context: Any, params: Any) -> ElicitResult:
            return ElicitResult(action=action, content={"sure": True} if action == "accept" else None)

        server = MCPServer("shop", extensions=extensions)
        server.add_tool(_search, "search")
        return Client(server, elicitation_callback=answer)

    return make


@pytest.fixture
def client_of(door: Door, shop: Shop) -> Clients:
    """Makes a client, in this process, of a server whose paid tools have these options."""

    @asynccontextmanager
    async def made(**options: Any) -> AsyncIterator[Client]:
        held = {"path": door.path, "wait_s": 0, **options}
        async with Client(shop.server(PaidTools(door.purser, PRICES, **held))) as client:
            yield client

    return made
