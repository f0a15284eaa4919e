"""Fact extraction: takes facts word for word from messages."""

from collections.abc import Iterable

from purser.context.compression.requests import Redact, unchanged
from purser.context.conversation.messages import SYSTEM_ROLES, StoredMessage
from purser.context.conversation.storable import storable
from purser.context.facts.candidates import candidates
from purser.context.facts.known import KnownFacts
from purser.context.facts.values import Fact


def extract_facts(messages: Iterable[StoredMessage], redact: Redact = unchanged) -> list[Fact]:
    """Extracts the facts of messages in sequence and marks those that a later message contradicts.

    System messages yield none, because every window shows them. A fact that is stated again while it holds is one fact.

    Args:
        messages: messages of one thread.
        redact: applied to each text before facts are extracted.
    """
    return changed_facts((), messages, redact)


def changed_facts(live: Iterable[Fact], messages: Iterable[StoredMessage], redact: Redact = unchanged) -> list[Fact]:
    """Extracts the facts that messages add, and the facts of `live` that they supersede, with `superseded_by` set.

    Following a thread in steps, with `merged_facts` after each, gives the facts of extracting them all at once. Facts
    that other rules extracted, as their `RULES_VERSION` tells, must be extracted anew.

    Args:
        live: facts of earlier messages of the thread; superseded ones are ignored.
        messages: the next messages of the thread, in sequence.
        redact: applied to each text before facts are extracted.
    """
    known = KnownFacts(live)
    for stored in messages:
        if stored.message.role not in SYSTEM_ROLES:
            for candidate in candidates(stored, redact(storable(stored.message.text))):
                known.add(candidate)
    return known.changed()


def merged_facts(facts: Iterable[Fact], changed: Iterable[Fact]) -> list[Fact]:
    """Facts after a change, in sequence.

    Args:
        facts: the facts so far, including superseded ones.
        changed: what `changed_facts` returned.
    """
    merged = {fact.identity: fact for fact in (*facts, *changed)}
    return sorted(merged.values(), key=lambda fact: fact.seq)
