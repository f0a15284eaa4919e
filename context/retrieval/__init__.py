"""Memory retrieval: finding stored messages for a question, and rendering them in a window.

This package holds values and rules only; the index is in `purser.context.postgres.memory.memory`.
"""

from purser.context.retrieval.embedding import Embedder, Outcome, Vector
from purser.context.retrieval.found import Found, Results, Via
from purser.context.retrieval.rendering import Document, memory_message

__all__ = ["Document", "Embedder", "Found", "Outcome", "Results", "Vector", "Via", "memory_message"]
