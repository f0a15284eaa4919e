"""Holds around tools that cost money, at the side that serves them or at the side that calls them."""

import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

from mcp.types import CallToolResult, TextContent
from mcp.types.methods import is_input_required

from purser_client.calls.course import NOTHING
from purser_client.calls.options import CallOptions, asked
from purser_client.client import AsyncPurser
from purser_client.errors import ApprovalNeeded, NotAdmitted, PurserError

T = TypeVar("T")
log = logging.getLogger("purser_client")
_VERDICT = "purser/verdict"
_APPROVAL = "purser/approval_id"


class ToolHolds:
    """Runs tools under holds of their prices."""

    def __init__(self, purser: AsyncPurser, prices: Mapping[str, int], options: CallOptions) -> None:
        """Makes holds.

        Args:
            purser: The client of the gateway.
            prices: What a call costs at most, in nano-dollars, by name of the tool. Other tools are free.
            options: How calls are held, see `CallOptions`.
        """
        self._purser = purser
        self.prices = dict(prices)
        self._options = options

    async def run(
        self, name: str, call: Callable[[], Awaitable[T]], cost_of: Callable[[T, int], int] = lambda _, price: price
    ) -> T | CallToolResult:
        """The result of a tool, or why it has not run.

        Args:
            name: Name of the tool.
            call: Runs it.
            cost_of: What a call has cost, by its result and the price.
        """
        if (price := self.prices.get(name)) is None:
            return await call()
        ran: list[T] = []
        try:
            made = asked(self._options, 1) | {"nano_usd": price, "input_tokens": 0}
            made["tags"] = {**(made.get("tags") or {}), "tool": name}
            async with self._purser.call(**made) as held:
                await held.start()
                ran.append(await call())
                # A tool that asks for input first has not run: its client calls it again with the answer.
                cost = 0 if is_input_required(ran[0]) else cost_of(ran[0], price)
                await held.settle(NOTHING, nano_usd=cost)
        except PurserError as error:
            if not ran:
                return _refused(error)
            log.warning("the lease charges the price of %s: %s", name, error)
        return ran[0]


def _refused(error: PurserError) -> CallToolResult:
    """The result of a tool that has not run."""
    meta: dict[str, Any] = {}
    if isinstance(error, NotAdmitted):
        meta[_VERDICT] = str(error.answer.verdict)
    if isinstance(error, ApprovalNeeded):
        meta[_APPROVAL] = error.approval_id
    return CallToolResult(content=[TextContent(type="text", text=str(error))], is_error=True, _meta=meta)
