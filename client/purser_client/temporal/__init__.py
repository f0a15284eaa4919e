"""Budgets for the model calls of other people's Temporal workflows: `PurserPlugin`."""

from purser_client.paths import budget_path
from purser_client.temporal.estimates import Estimate, plain_estimate
from purser_client.temporal.plugin import MODEL_ACTIVITIES, PurserPlugin

__all__ = ["MODEL_ACTIVITIES", "Estimate", "PurserPlugin", "budget_path", "plain_estimate"]
