"""In-process memories of one conversation, for code that embeds Purser.

Each has `add_message`, `get_messages` and `retrieve`. They are thin wrappers of the strategies, facts and retrieval
that stored sessions use.
"""

from purser.context.memories.base import ConversationMemory
from purser.context.memories.facts import FactsMemory, KnowledgeGraphMemory
from purser.context.memories.rolling import RollingMemory, RollingState, SummaryMemory
from purser.context.memories.vector import HybridMemory, VectorMemory
from purser.context.memories.windowed import SlidingWindowMemory, ThreePartMemory, TokenTruncationMemory

__all__ = [
    "ConversationMemory",
    "FactsMemory",
    "HybridMemory",
    "KnowledgeGraphMemory",
    "RollingMemory",
    "RollingState",
    "SlidingWindowMemory",
    "SummaryMemory",
    "ThreePartMemory",
    "TokenTruncationMemory",
    "VectorMemory",
]
