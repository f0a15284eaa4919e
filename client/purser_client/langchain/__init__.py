"""Budgets for agents of LangChain and LangGraph: `PurserMiddleware`."""

from purser_client.langchain.middleware import PurserMiddleware

__all__ = ["PurserMiddleware"]
