"""`python -m purser_client.mcp SCOPE...`: the server of budgets, on stdin and stdout or on a port of this machine."""

import argparse
import asyncio
import sys
from contextlib import suppress

from purser_client.client import AsyncPurser
from purser_client.errors import PurserError
from purser_client.mcp.server import budget_server


async def serve(path: list[str], port: int | None) -> None:
    """Serves until stdin ends, or for ever."""
    async with AsyncPurser() as purser:
        server = budget_server(purser, path)
        if port is None:
            await server.run_stdio_async()
        else:
            await server.run_streamable_http_async(port=port)


def main() -> None:
    """Reads the command line."""
    parser = argparse.ArgumentParser(prog="python -m purser_client.mcp", description="Serves budgets to MCP clients.")
    parser.add_argument("path", nargs="+", metavar="SCOPE", help="whose budget, outermost first, such as session:s1")
    parser.add_argument("--port", type=int, help="serve streamable HTTP on this port of 127.0.0.1 instead of stdio")
    given = parser.parse_args()
    if given.port is not None and not 0 <= given.port < 65_536:
        parser.error(f"{given.port} is no port: use a number up to 65535")
    with suppress(KeyboardInterrupt):
        try:
            asyncio.run(serve(given.path, given.port))
        except PurserError as error:
            sys.exit(f"{parser.prog}: {error}")


if __name__ == "__main__":
    main()
