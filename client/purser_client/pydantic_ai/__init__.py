"""Budgets for pydantic-ai: `PurserModel`, a model around another one."""

from purser_client.pydantic_ai.model import PurserModel

__all__ = ["PurserModel"]
