"""An extension of MCP servers: tools that cost money run only if the budget admits them."""

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Unpack

from mcp.server import ServerRequestContext
from mcp.server.context import CallNext, HandlerResult
from mcp.server.mcpserver import Extension
from mcp.types import CallToolRequestParams, CallToolResult, TextContent

from purser_client.calls.course import NOTHING
from purser_client.calls.options import CallOptions, asked
from purser_client.client import AsyncPurser
from purser_client.errors import ApprovalNeeded, NotAdmitted, PurserError
from purser_client.paths import budget_path

log = logging.getLogger("purser_client")
COST = "purser/nano_usd"
"""In `_meta` of a result: what the call has cost, in nano-dollars, if not the price."""
_VERDICT = "purser/verdict"
_APPROVAL = "purser/approval_id"

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
        self._purser = purser
        self._prices = dict(prices)
        self._path_of = path_of
        self._options = options

    def settings(self) -> dict[str, Any]:
        """See base class. Tells clients the prices."""
        return {"nano_usd": self._prices}

    async def intercept_tool_call(
        self, params: CallToolRequestParams, ctx: ServerRequestContext[Any, Any], call_next: CallNext
    ) -> HandlerResult:
        """See base class. A tool that is not admitted does not run: the model reads why."""
        if (price := self._prices.get(params.name)) is None:
            return await call_next(ctx)
        if self._path_of is None:
            return await self._held(params.name, price, ctx, call_next)
        with budget_path(*self._path_of(params, ctx)):
            return await self._held(params.name, price, ctx, call_next)

    async def _held(
        self, name: str, price: int, ctx: ServerRequestContext[Any, Any], call_next: CallNext
    ) -> HandlerResult:
        result: HandlerResult = None
        try:
            made = asked(self._options, 1) | {"nano_usd": price, "input_tokens": 0}
            made["tags"] = {**(made.get("tags") or {}), "tool": name}
            async with self._purser.call(**made) as call:
                await call.start()
                result = await call_next(ctx)
                await call.settle(NOTHING, nano_usd=_cost(result, price))
        except PurserError as error:
            if result is None:
                return _refused(error)
            log.warning("the lease charges the price of %s: %s", name, error)
        return result


def _cost(result: HandlerResult, price: int) -> int:
    meta = result.meta if isinstance(result, CallToolResult) else None
    cost: int = (meta or {}).get(COST, price)
    return cost


def _refused(error: PurserError) -> CallToolResult:
    """The result of a tool that has not run."""
    meta: dict[str, Any] = {}
    if isinstance(error, NotAdmitted):
        meta[_VERDICT] = str(error.answer.verdict)
    if isinstance(error, ApprovalNeeded):
        meta[_APPROVAL] = error.approval_id
    return CallToolResult(content=[TextContent(type="text", text=str(error))], is_error=True, _meta=meta)
