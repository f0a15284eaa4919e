"""The sheet of facts that a window shows: most valuable first, bounded by tokens."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from math import log2

from purser.context.compression.requests import CountText
from purser.context.facts.values import MENTIONS, Fact, Kind

MOST_TOKENS = 600
"""Of a sheet."""
_SHARE = 4
"""A quarter of what a summary may take is kept for its sheet, at most."""
_WORTHS = {Kind.PREFERENCE: 5, Kind.NEGATION: 5, Kind.DECISION: 4, Kind.ID: 4, Kind.FIELD: 0.5}
_WORTH = 3.0
"""Of a fact of any other kind."""
_NAMED = 2.0
"""Added where what the value is has a name."""
_ASKED = 1.5
"""Times as much where the user says it: what assistants list is often an offer."""


@dataclass(frozen=True, slots=True)
class FactSheet:
    """Facts as text."""

    text: str
    """A line for each sentence that tells facts, in sequence, after its message's number; empty if there is none."""
    shown: tuple[Fact, ...]
    overflow: tuple[Fact, ...]
    """What holds and did not fit."""


def sheet_tokens(room: int) -> int:
    """Tokens of the sheet of a summary that may take `room` tokens."""
    return max(0, min(MOST_TOKENS, room // _SHARE))


def render_facts(facts: Iterable[Fact], most_tokens: int, count: CountText) -> FactSheet:
    """The most valuable facts that fit, for their length; what a later message contradicts is in neither list.

    Args:
        facts: of one thread, in sequence.
        most_tokens: of the sheet.
        count: by the counter of the model that will read it.
    """
    ordered = list(facts)
    lines = _lines(ordered)
    often = Counter(fact.value for fact in ordered)
    tokens = {line: count(line + "\n") for line in lines}
    worths = {line: sum(_worth(fact, often[fact.value]) for fact in held) for line, held in lines.items()}
    picked, room = set(), most_tokens
    for line in sorted(lines, key=lambda line: -worths[line] / tokens[line]):
        if tokens[line] <= room:
            picked.add(line)
            room -= tokens[line]
    shown = [line for line in lines if line in picked]
    while shown and count("\n".join(shown)) > most_tokens:
        shown.pop()
    included = [fact for line in shown for fact in lines[line]]
    left = [fact for line, held in lines.items() if line not in set(shown) for fact in held]
    return FactSheet("\n".join(shown), tuple(included), tuple(left))


def omitted_facts(facts: Iterable[Fact], text: str) -> list[Fact]:
    """The facts whose sentence does not stand in a text that is shown beside the sheet."""
    said = " ".join(text.split())
    return [fact for fact in facts if fact.text not in said]


def _lines(facts: Iterable[Fact]) -> dict[str, list[Fact]]:
    """What holds, by the line that shows it: the sentence, or single values where others of it hold no longer."""
    ordered = list(facts)
    stale = {(fact.seq, fact.text) for fact in ordered if fact.superseded_by is not None}
    lines: dict[str, list[Fact]] = {}
    for fact in ordered:
        if fact.superseded_by is None:
            alone = (fact.seq, fact.text) in stale
            said = (
                f"{fact.subject} {fact.relation}: {fact.value}"
                if alone or not fact.speaker
                else f"{fact.speaker}: {fact.text}"
            )
            lines.setdefault(f"{fact.seq} {said}", []).append(fact)
    return lines


def _worth(fact: Fact, often: int) -> float:
    named = _NAMED * (fact.relation != MENTIONS and fact.kind is not Kind.FIELD)
    asked = _ASKED if fact.speaker == "user" else 1
    return (_WORTHS.get(fact.kind, _WORTH) + named) * (1 + log2(often) / 2) * asked
