"""Facts: short statements that can be shown in every window."""

import re
from dataclasses import dataclass
from enum import StrEnum

RULES_VERSION = 10
"""Version of the rules: facts stored by another version are extracted anew from the messages."""

MENTIONS = "mentions"
"""Relation of a value that a message mentions without naming what it is."""
RULES_OUT = "rules out"
DECIDES = "decides"
IS = "is"
ALLERGY = "allergic to"
DIET = "diet"
MANY = frozenset({MENTIONS, RULES_OUT, DECIDES})
"""Relations with many values at once: a newer value replaces none."""
REACHES = re.compile(r"^\[(EMAIL|PHONE)_|@")
"""What tells an id by which somebody is reached from one of a thing."""
_UNIT = re.compile(r"([^\W\d_一二两三四五六七八九十百千万]+|%)$")


class Kind(StrEnum):
    """Kind of a fact's value."""

    PREFERENCE = "preference"
    NEGATION = "negation"
    """Something that was refused, forbidden or ruled out."""
    DECISION = "decision"
    MONEY = "money"
    DATE = "date"
    """A date, or a relative date such as "last week"."""
    TIME = "time"
    """A time of day."""
    ID = "id"
    NUMBER = "number"
    """A number with its unit or noun."""
    NAME = "name"
    ADDRESS = "address"
    """A street with its number."""
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
    """What it is about; the speaker where the text names nothing else, and nothing if a tool's result names nothing."""
    relation: str
    """How the value relates to the subject."""
    value: str
    """The value, word for word as in the message."""
    text: str
    """The sentence of the value, word for word; of a long sentence, the clauses around it."""
    speaker: str
    """Name or role of the speaker; empty for a field of a tool result."""
    superseded_by: int | None = None
    """Sequence number of the first later message with another value, or that takes it back; `None` if it is current."""

    @property
    def identity(self) -> tuple[int, str, str, str, str]:
        """Tells it from all other facts of its thread."""
        return self.seq, self.kind, self.subject, self.relation, self.value

    @property
    def topic(self) -> tuple[str, str, str, str] | None:
        """Subject, relation, kind and unit, if they have only one value at a time; otherwise `None`.

        A result that names nothing may be of any call, and so replaces that of none.
        """
        if self.relation in MANY or not self.subject:
            return None
        return self.subject, self.relation, self.kind, self.unit

    @property
    def unit(self) -> str:
        """What a number counts or measures, without its plural ending, or how an id reaches somebody; or empty."""
        if self.kind is Kind.ID and (reached := REACHES.search(self.value)):
            return (reached[1] or "email").casefold()
        found = _UNIT.search(self.value) if self.kind is Kind.NUMBER else None
        return found[1].casefold().rstrip("sne") or found[1] if found else ""
