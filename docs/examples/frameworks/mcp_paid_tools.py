"""Offers a tool that costs money over MCP, and calls it under a budget: the price is held before and charged after.

PURSER_URL, PURSER_API_KEY: the gateway, and a key of role `agent`.
"""

import asyncio
import sys

from mcp import Client
from mcp.server import MCPServer
from mcp.types import TextContent

from purser_client import AsyncPurser
from purser_client.mcp import PaidTools


async def search(query: str) -> str:
    """Searches the web."""
    return f"three pages about {query}"


async def main() -> str:
    """Call the tool once. A server of your own ends with `await server.run_stdio_async()` instead."""
    async with AsyncPurser() as purser:
        paid = PaidTools(purser, {"search": 5_000_000}, path=["session:chat-8"])
        server = MCPServer("library", extensions=[paid])
        server.add_tool(search)
        async with Client(server) as client:
            result = await client.call_tool("search", {"query": "tea"})
    return " ".join(block.text for block in result.content if isinstance(block, TextContent))


if __name__ == "__main__":
    sys.stdout.write(asyncio.run(main()) + "\n")
