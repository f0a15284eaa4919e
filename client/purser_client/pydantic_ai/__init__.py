"""Budgets for pydantic-ai: `PurserModel`, a model around another one, and `PurserCapability`, of an agent."""

from purser_client.pydantic_ai.capability import PurserCapability
from purser_client.pydantic_ai.model import PurserModel

__all__ = ["PurserCapability", "PurserModel"]
