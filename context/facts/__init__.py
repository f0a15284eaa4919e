"""Facts of a conversation, word for word: numbers, dates, ids, names, preferences and refusals.

They form a knowledge graph of subject, relation, value and source message. This package holds rules only; the store is
`purser.context.postgres.conversation.facts`.
"""

from purser.context.facts.extraction import extract_facts
from purser.context.facts.sheet import MOST_TOKENS, FactSheet, omitted_facts, render_facts, sheet_tokens
from purser.context.facts.values import Fact, Kind, supersede

__all__ = [
    "MOST_TOKENS",
    "Fact",
    "FactSheet",
    "Kind",
    "extract_facts",
    "omitted_facts",
    "render_facts",
    "sheet_tokens",
    "supersede",
]
