"""A server of MCP whose tools tell a model what its budget is, and ask for more."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations

from purser_client.client import AsyncPurser
from purser_client.errors import PurserError
from purser_client.mcp.views import Approval, Asked, Forecast, Left
from purser_client.paths import path_or
from purser_client.types import ForecastBudgetAnswer

_READS = ToolAnnotations(read_only_hint=True)
_ASKS = ToolAnnotations(destructive_hint=False)


def budget_server(purser: AsyncPurser, path: Sequence[str]) -> MCPServer:
    """Makes a server for the budgets of a path. What a model learns from it is advice: adapters and the proxy enforce.

    Args:
        purser: The client of the gateway, open as long as the server runs.
        path: Scopes, outermost first, for example `["user:ana", "session:s1"]`.
    """
    scopes = path_or(path)

    async def shown() -> list[ForecastBudgetAnswer]:
        return [await purser.budgets.show(scope) for scope in scopes]

    async def budget_left() -> list[Left]:
        """What is left to spend, by scope and period of its limits; the smallest counts. Money is in nano-dollars."""
        with _told():
            return [Left.of(limit) for budget in await shown() for limit in (budget, *budget.further_limits)]

    async def budget_forecast() -> list[Forecast]:
        """How fast the budget is being spent, by scope and period, and when it is used up at that rate."""
        with _told():
            # Only the budget that is asked for comes with a forecast.
            return [
                Forecast.of(one)
                for budget in await shown()
                for one in (budget, *[await purser.budgets.show(limit.scope) for limit in budget.further_limits])
            ]

    async def approval_state(approval_id: str) -> Approval:
        """Whether a request for more has been decided."""
        with _told():
            return Approval.of(await purser.approvals.show(approval_id))

    async def ask_for_more(tokens: int, nano_usd: int = 0) -> Asked:
        """Asks a person for as much budget as a call of this size lacks. If it fits already, nobody is asked.

        Args:
            tokens: Tokens that the call needs, input and output.
            nano_usd: Its cost in nano-dollars.
        """
        with _told():
            answer = await purser.holds.ask(scopes, tokens, nano_usd=nano_usd)
            if answer.hold_id is not None:
                await purser.holds.release(answer.hold_id)
            return Asked.of(answer)

    server = MCPServer(
        "purser", instructions="Tells what is left of the budget that your calls use, and asks for more."
    )
    for tool in (budget_left, budget_forecast, approval_state):
        server.add_tool(tool, annotations=_READS)
    server.add_tool(ask_for_more, annotations=_ASKS)
    return server


@contextmanager
def _told() -> Iterator[None]:
    """Tells the model what the gateway says, instead of that a tool has crashed."""
    try:
        yield
    except PurserError as error:
        raise ToolError(str(error)) from error
