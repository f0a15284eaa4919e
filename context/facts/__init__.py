"""Facts of a conversation, word for word: numbers, dates, ids, names, preferences and refusals.

They form a knowledge graph of subject, relation, value and source message. This package holds rules only; the store is
`purser.context.postgres.conversation.facts`.
"""

from purser.context.facts.extraction import changed_facts, extract_facts, merged_facts
from purser.context.facts.sheet import MOST_TOKENS, FactSheet, omitted_facts, render_facts, sheet_tokens
from purser.context.facts.values import RULES_VERSION, Fact, Kind

__all__ = [
    "MOST_TOKENS",
    "RULES_VERSION",
    "Fact",
    "FactSheet",
    "Kind",
    "changed_facts",
    "extract_facts",
    "merged_facts",
    "omitted_facts",
    "render_facts",
    "sheet_tokens",
]
