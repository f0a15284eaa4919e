"""Memory: stored messages that a question brings back, and how a window shows them.

Values and rules only; the index lives in `context.postgres.memory`.
"""

from context.retrieval.embedding import Embedder, Outcome, Vector
from context.retrieval.found import Found, Via
from context.retrieval.showing import Document, memory_message

__all__ = ["Document", "Embedder", "Found", "Outcome", "Vector", "Via", "memory_message"]
