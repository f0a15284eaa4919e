"""Budgets for MCP: `budget_server`, whose tools tell a model its budget, and `PaidTools`, held before they run."""

from purser_client.mcp.paid_tools import COST, PaidTools
from purser_client.mcp.server import budget_server

__all__ = ["COST", "PaidTools", "budget_server"]
