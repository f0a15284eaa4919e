"""What the rules know of one language, as patterns."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from purser.context.facts.languages.prefilter import Prefiltered
from purser.context.facts.values import Kind

CLAUSE = r"(?:[^.,;!?\n]|,(?=\d)|\.(?=(?-i:[a-z\d])))"
"""A character of a clause, which a point or comma in a word or number does not end: `Node.js`, `1,500`."""
STOP = r"(?:[;!?]|,(?!\d)|\.(?!(?-i:[a-z\d]))|$)"
"""The end of a clause."""


def started(to: str, between: str = r"(?!)", number: str = r"\d+(?:[.,]\d+)*") -> str:
    """The beginning of a range up to its last number, or nothing: `2 to ` of `2 to 3 days`.

    Args:
        to: words between the ends of a range; a dash joins them in any language.
        between: a word before a range whose ends another one joins, and that word, as `between|and`.
        number: a number of the range.
    """
    before, _, joins = between.partition("|")
    return rf"(?:\b(?:{before}) {number} (?:{joins}) |(?<![\w.,-]){number}(?:\s?[-–~〜～]\s?| (?:{to}) ))?"


@dataclass(frozen=True, eq=False)
class Language:
    """Patterns of one language. All are searched in single sentences, without regard to case unless they say so."""

    values: Mapping[Kind, str]
    """Pattern of the values of each kind."""
    owned: str
    """Words before a value that name what it is, up to the value.

    Groups: `whose` (a possessive or an article; may be missing), `noun`, `verb`.
    """
    selves: frozenset[str]
    """Possessives of the speaker."""
    others: frozenset[str]
    """Possessives of the addressee."""
    articles: frozenset[str]
    """Words by which a noun is somebody's that is known; other possessives may be anybody's."""
    statements: Mapping[Kind, tuple[tuple[str, str], ...]]
    """Patterns of preferences, refusals and decisions, each after its relation.

    An empty relation stands for the text of the group that takes part, in lower case. The group `of` holds one of the
    speaker's people, such as `daughter`, and `who` a name, whom the statement is about; with the group `other`, it is
    about anybody.
    """
    replacing: tuple[str, ...]
    """Patterns that name an old and a new value, as groups `old` and `new`; a number has no point and no comma."""
    denying: tuple[str, ...]
    """The same, with no word but a denial of the old value, such as `5 pm, not 3 pm`."""
    cue: str
    """Words before a value that replaces an earlier one, up to the value."""
    cue_after: str
    """Words after such a value, from its end."""
    interjection: str
    """Words such as "no" before a value, which replaces another one only if nothing else is said about it."""
    alternative: str
    """A sentence that only replaces an earlier choice, with the group `new`; statements with `changed` do it too."""
    changed: str
    """Words by which a statement replaces an earlier one."""
    unsure: str
    """Words that make a sentence no correction: conditions, denials."""
    farewell: str
    """Greetings and farewells with the times that they mention."""
    retracted: str = r"(?!)"
    """A sentence that takes something back and puts nothing in its place.

    Groups: `whose` (a genitive; may be missing), `noun` (missing for what was said last).
    """
    genitive: str = r"['’]s$"
    """The ending of a name that owns something."""
    past: frozenset[str] = frozenset()
    """Verbs by which an owned value is one of the past."""
    relations: Mapping[str, str] = field(default_factory=dict)
    """Relation of a verb that is more than "is"."""
    capitalizes_nouns: bool = False
    markers: frozenset[str] = frozenset()
    """Frequent words that tell the language, for languages in Latin script."""

    @cached_property
    def is_owned(self) -> Prefiltered:
        return Prefiltered(rf"(?:{self.owned})$")

    @cached_property
    def replaces(self) -> tuple[Prefiltered, ...]:
        return tuple(Prefiltered(pattern) for pattern in self.replacing)

    @cached_property
    def denies(self) -> tuple[Prefiltered, ...]:
        return tuple(Prefiltered(pattern) for pattern in self.denying)

    @cached_property
    def _is_genitive(self) -> Prefiltered:
        return Prefiltered(self.genitive)

    def named_by(self, genitive: str) -> str | None:
        """The name that a word in the genitive has; `None` if it is in no genitive."""
        ending = self._is_genitive.search(genitive)
        return genitive[: ending.start()] if ending else None

    @cached_property
    def is_cue(self) -> Prefiltered:
        return Prefiltered(rf"(?:{self.cue})\s*$")

    @cached_property
    def is_interjection(self) -> Prefiltered:
        return Prefiltered(rf"(?:{self.interjection})\s*$")

    @cached_property
    def is_cue_after(self) -> Prefiltered:
        return Prefiltered(self.cue_after)

    @cached_property
    def is_alternative(self) -> Prefiltered:
        return Prefiltered(self.alternative)

    @cached_property
    def is_changed(self) -> Prefiltered:
        return Prefiltered(self.changed)

    @cached_property
    def is_unsure(self) -> Prefiltered:
        return Prefiltered(self.unsure)

    @cached_property
    def is_retracted(self) -> Prefiltered:
        return Prefiltered(self.retracted)

    @cached_property
    def is_farewell(self) -> Prefiltered:
        return Prefiltered(self.farewell)

    @cached_property
    def stated(self) -> tuple[tuple[Kind, str, Prefiltered], ...]:
        """Kind, relation and pattern of every kind of statement."""
        return tuple(
            (kind, relation, Prefiltered(pattern))
            for kind, patterns in self.statements.items()
            for relation, pattern in patterns
        )
