"""Budgets for LiteLLM: `PurserLogger`, a callback."""

from purser_client.litellm.final import UnheldCall
from purser_client.litellm.logger import PurserLogger

__all__ = ["PurserLogger", "UnheldCall"]
