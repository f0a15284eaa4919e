"""Memories of one conversation in the memory of a process, for code that embeds Purser.

Each has `add_message`, `get_messages` and `retrieve`; they are thin over the strategies, the facts and the retrieval
that stored sessions use.
"""

from context.memories.base import ConversationMemory
from context.memories.finding import HybridMemory, VectorMemory
from context.memories.knowing import FactsMemory, KnowledgeGraphMemory
from context.memories.rolling import RollingMemory, RollingState, SummaryMemory
from context.memories.windowed import SlidingWindowMemory, ThreePartMemory, TokenTruncationMemory

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
