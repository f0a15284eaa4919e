"""Facts: short statements that can be shown in every window."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum

MENTIONS = "mentions"
"""Relation of a value that a message mentions without naming what it is."""
RULES_OUT = "rules out"
DECIDES = "decides"
MANY = frozenset({MENTIONS, RULES_OUT, DECIDES})
"""Relations with many values at once: a newer value replaces none."""


class Kind(StrEnum):
    """Kind of a fact's value."""

    PREFERENCE = "preference"
    NEGATION = "negation"
    """Something that was refused, forbidden or ruled out."""
    DECISION = "decision"
    MONEY = "money"
    DATE = "date"
    """A date, a time of day, or a relative date such as "last week"."""
    ID = "id"
    NUMBER = "number"
    """A number with its unit or noun."""
    NAME = "name"
    PATH = "path"
    """A file path or a URL."""
    FIELD = "field"
    """A field of a tool result that is of no other kind."""


@dataclass(frozen=True, slots=True)
class Fact:
    """One statement as subject, relation and value: an edge of the conversation's knowledge graph.

    Kind, subject, relation and value identify a fact within its message.
    """

    seq: int
    """Sequence number of its message."""
    kind: Kind
    subject: str
    """What it is about; the speaker where the text names nothing else."""
    relation: str
    """How the value relates to the subject."""
    value: str
    """The value, word for word as in the message."""
    text: str
    """The sentence of the value, word for word; of a long sentence, the clauses around it."""
    speaker: str
    """Name or role of the speaker; empty for a field of a tool result."""
    superseded_by: int | None = None
    """Sequence number of the first later message with another value; `None` if the fact is current."""

    @property
    def topic(self) -> tuple[str, str] | None:
        """Subject and relation, if they have only one value at a time; otherwise `None`."""
        return None if self.relation in MANY else (self.subject, self.relation)


def supersede(facts: Iterable[Fact]) -> list[Fact]:
    """Marks each fact with the first later message that gives another value for the same subject and relation."""
    ordered = list(facts)
    said: dict[tuple[str, str], list[Fact]] = {}
    for fact in ordered:
        if fact.topic:
            said.setdefault(fact.topic, []).append(fact)

    def by(fact: Fact) -> int | None:
        others = said[fact.topic] if fact.topic else ()
        return min((one.seq for one in others if one.seq > fact.seq and one.value != fact.value), default=None)

    return [replace(fact, superseded_by=by(fact)) for fact in ordered]
