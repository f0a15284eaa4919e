"""Budgets for MCP: paid tools, held before they run, and a server that tells a model its budget.

`PaidTools` is for servers with such tools, `hold_tools` for clients of them, `budget_server` makes the server.
"""

from purser_client.mcp.hold_tools import hold_tools
from purser_client.mcp.paid_tools import COST, PaidTools
from purser_client.mcp.server import budget_server

__all__ = ["COST", "PaidTools", "budget_server", "hold_tools"]
