"""Holds for paid tools of servers that are not one's own, at the client that calls them."""

from collections.abc import Mapping
from typing import Any, Unpack

from mcp import Client, ClientSession

from purser_client.calls.options import CallOptions
from purser_client.client import AsyncPurser
from purser_client.mcp.tool_holds import ToolHolds

_HOLDS = "_purser_holds"


def hold_tools(
    client: Client | ClientSession, purser: AsyncPurser, prices: Mapping[str, int], /, **options: Unpack[CallOptions]
) -> None:
    """Lets `call_tool` of a client hold the price of a tool from now on, also where a framework calls it.

    The price is charged whatever the server says, because it is somebody else's, except when it asks for input first. A
    tool that is not admitted is not called; the result says why, as that of a tool that has failed does. A client that
    holds already stays as it is.

    Args:
        client: The client, or the session that a framework takes.
        purser: The client of the gateway, open as long as tools are called.
        prices: What a call costs, in nano-dollars, by name of the tool. Other tools are free.
        options: How calls are held, see `CallOptions`.
    """
    holds, call_tool = ToolHolds(purser, prices, options), client.call_tool
    if hasattr(call_tool, _HOLDS):
        return

    async def call_held(name: str, *arguments: Any, **named: Any) -> Any:
        return await holds.run(name, lambda: call_tool(name, *arguments, **named))

    setattr(call_held, _HOLDS, True)
    client.call_tool = call_held  # clients have no hook for this
