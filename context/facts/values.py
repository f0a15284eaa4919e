"""Facts: what was said in so few words that it can always be shown."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum

MENTIONS = "mentions"
"""Relation of a value that stands in a message without a name for what it is."""
RULES_OUT = "rules out"
DECIDES = "decides"
MANY = frozenset({MENTIONS, RULES_OUT, DECIDES})
"""Relations that hold for many values at once: a newer one replaces nothing."""


class Kind(StrEnum):
    """What a fact's value is."""

    PREFERENCE = "preference"
    NEGATION = "negation"
    """Something that was refused, forbidden or ruled out."""
    DECISION = "decision"
    MONEY = "money"
    DATE = "date"
    """Or a time of day, or a day told from when it was said: last week."""
    ID = "id"
    NUMBER = "number"
    """With what it counts."""
    NAME = "name"
    PATH = "path"
    """A file path or a URL."""
    FIELD = "field"
    """What a tool returned under a key, of no other kind."""


@dataclass(frozen=True, slots=True)
class Fact:
    """One statement, as subject, relation and value: an edge of the conversation's knowledge graph.

    Of a message, a fact is named by kind, subject, relation and value.
    """

    seq: int
    """The message that it was taken from."""
    kind: Kind
    subject: str
    """Who or what it is about; the speaker where nothing else is named."""
    relation: str
    """What of the subject the value is."""
    value: str
    """Word for word as in the message."""
    text: str
    """The sentence that it stands in, or of a long one the part around it, word for word."""
    speaker: str
    """Who said it; empty for a field of a tool's result."""
    superseded_by: int | None = None
    """The message that says otherwise."""

    @property
    def topic(self) -> tuple[str, str] | None:
        """What only one value holds of at a time; `None` where many do."""
        return None if self.relation in MANY else (self.subject, self.relation)


def supersede(facts: Iterable[Fact]) -> list[Fact]:
    """The facts, each told which message said otherwise first: same subject and relation, another value, later."""
    ordered = list(facts)
    said: dict[tuple[str, str], list[Fact]] = {}
    for fact in ordered:
        if fact.topic:
            said.setdefault(fact.topic, []).append(fact)

    def by(fact: Fact) -> int | None:
        others = said[fact.topic] if fact.topic else ()
        return min((one.seq for one in others if one.seq > fact.seq and one.value != fact.value), default=None)

    return [replace(fact, superseded_by=by(fact)) for fact in ordered]
