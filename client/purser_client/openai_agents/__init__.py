"""Budgets for the OpenAI Agents SDK: `PurserProvider`, a `ModelProvider` around another one."""

from purser_client.openai_agents.model import PurserModel
from purser_client.openai_agents.provider import PurserProvider

__all__ = ["PurserModel", "PurserProvider"]
