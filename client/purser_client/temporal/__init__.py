"""Temporal: budgets for the model calls of other people's workflows (`PurserPlugin`), and tools for Purser's (`tool`).

`purser_client.contract` has the names and types of Purser's own workflows and activities.
"""

from purser_client.paths import budget_path
from purser_client.temporal.estimates import Estimate, plain_estimate
from purser_client.temporal.frameworks import MODEL_ACTIVITIES
from purser_client.temporal.plugin import PurserPlugin
from purser_client.temporal.tools import ToolReply, tool

__all__ = ["MODEL_ACTIVITIES", "Estimate", "PurserPlugin", "ToolReply", "budget_path", "plain_estimate", "tool"]
