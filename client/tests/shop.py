"""A server of MCP whose tools cost money, and note when they run."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any

from doors import Door, eventually
from mcp import Client
from mcp.server import MCPServer
from mcp.types import CallToolResult

from purser_client.mcp import COST, PaidTools

PRICE = 2_000_000
PRICES = dict.fromkeys(("search", "cheaper", "broken", "endless"), PRICE)
Clients = Callable[..., AbstractAsyncContextManager[Client]]


@dataclass
class Shop:
    """The tools."""

    ran: list[str] = field(default_factory=list)
    running: asyncio.Event = field(default_factory=asyncio.Event)
    at_the_end: Callable[[], Awaitable[None]] | None = None
    """What happens while a search returns."""

    def server(self, paid: PaidTools) -> MCPServer:
        """A server of them."""
        server = MCPServer("shop", extensions=[paid])
        for tool in (self.search, self.cheaper, self.broken, self.endless, self.free):
            server.add_tool(tool)
        return server

    async def search(self, query: str) -> str:
        """Finds what it is asked for."""
        self.ran.append(query)
        if self.at_the_end is not None:
            await self.at_the_end()
        return f"found {query}"

    async def cheaper(self) -> Any:
        """Says that it has cost less than its price."""
        self.ran.append("cheaper")
        return CallToolResult(content=[], _meta={COST: PRICE // 2})

    async def broken(self) -> str:
        """Fails after it has begun."""
        self.ran.append("broken")
        raise ValueError("out of order")

    async def endless(self) -> None:
        """Runs until it is cancelled."""
        self.ran.append("endless")
        self.running.set()
        await asyncio.Event().wait()

    async def free(self) -> str:
        """Has no price."""
        self.ran.append("free")
        return "free"


async def is_paid(door: Door, nano_usd: int) -> None:
    """Asserts that this much is charged and nothing is held any more."""

    async def settled() -> int | None:
        money = (await door.purser.budgets.show(door.session)).nano_usd
        return None if money.held else money.spent

    assert await eventually(settled) == nano_usd
