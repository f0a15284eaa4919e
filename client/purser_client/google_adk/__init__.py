"""Budgets for Google's Agent Development Kit: `PurserLlm`, a model around another one."""

from purser_client.google_adk.llm import PurserLlm

__all__ = ["PurserLlm"]
