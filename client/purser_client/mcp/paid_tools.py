"""An extension of MCP servers: tools that cost money run only if the budget admits them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Unpack

from mcp.server import ServerRequestContext
from mcp.server.context import CallNext, HandlerResult
from mcp.server.mcpserver import Extension
from mcp.types import CallToolRequestParams, CallToolResult

from purser_client.calls.options import CallOptions
from purser_client.client import AsyncPurser
from purser_client.mcp.tool_holds import ToolHolds
from purser_client.paths import budget_path

COST = "purser/nano_usd"
"""In `_meta` of a result: what the call has cost, in nano-dollars, if not the price."""

PathOf = Callable[[CallToolRequestParams, ServerRequestContext[Any, Any]], Sequence[str]]


class PaidTools(Extension):
    """Holds the price of a tool before it runs, and charges it afterwards. For `MCPServer(extensions=[...])`."""

    identifier = "purser/paid-tools"

    def __init__(
        self,
        purser: AsyncPurser,
        prices: Mapping[str, int],
        /,
        *,
        path_of: PathOf | None = None,
        **options: Unpack[CallOptions],
    ) -> None:
        """Makes an extension.

        Args:
            purser: The client of the gateway, open as long as the server runs.
            prices: What a call costs at most, in nano-dollars, by name of the tool. Other tools are free.
            path_of: Whose budget a request is, for servers that several callers share. It must know from the
                connection, not from what the caller says.
            options: How calls are held, see `CallOptions`.
        """
        self._holds = ToolHolds(purser, prices, options)
        self._path_of = path_of

    def settings(self) -> dict[str, Any]:
        """See base class. Tells clients the prices."""
        return {"nano_usd": self._holds.prices}

    async def intercept_tool_call(
        self, params: CallToolRequestParams, ctx: ServerRequestContext[Any, Any], call_next: CallNext
    ) -> HandlerResult:
        """See base class. A tool that is not admitted does not run: the model reads why."""

        async def held() -> HandlerResult:
            return await self._holds.run(params.name, lambda: call_next(ctx), _cost)

        if self._path_of is None or params.name not in self._holds.prices:
            return await held()
        with budget_path(*self._path_of(params, ctx)):
            return await held()


def _cost(result: HandlerResult, price: int) -> int:
    meta = result.meta if isinstance(result, CallToolResult) else None
    cost: int = (meta or {}).get(COST, price)
    return cost
