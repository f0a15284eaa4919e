"""Memory: stored messages that a question brings back, and how a window shows them.

Values and rules only; the index lives in `purser.context.postgres.memory.memory`.
"""

from purser.context.retrieval.embedding import Embedder, Outcome, Vector
from purser.context.retrieval.found import Found, Via
from purser.context.retrieval.rendering import Document, memory_message

__all__ = ["Document", "Embedder", "Found", "Outcome", "Vector", "Via", "memory_message"]
