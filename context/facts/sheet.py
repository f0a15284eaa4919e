"""Fact sheets: the most valuable facts within a token budget, as a window shows them."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import log2

from purser.context.compression.requests import CountText
from purser.context.facts.values import MENTIONS, Fact, Kind

MOST_TOKENS = 600
"""Upper bound of a sheet."""
_SHARE, _SHARE_WITH_EXTRACT = 4, 20
"""A sheet takes at most a quarter of the room of its summary, or a twentieth beside an extract, which states
most facts."""
_WORTHS = {Kind.PREFERENCE: 5, Kind.NEGATION: 5, Kind.DECISION: 4, Kind.ID: 4, Kind.FIELD: 0.5}
_WORTH = 3.0
"""Weight of a fact of any other kind."""
_NAMED = 2.0
"""Added where the text names what the value is."""
_ASKED = 1.5
"""Factor for facts stated by the user: what assistants list is often an offer."""


@dataclass(frozen=True, slots=True)
class FactSheet:
    """Facts as text."""

    text: str
    """One line per sentence with facts, in sequence, each after its message number; empty if there is none."""
    shown: tuple[Fact, ...]
    overflow: tuple[Fact, ...]
    """Current facts that did not fit."""


def sheet_tokens(room: int, *, with_extract: bool = False) -> int:
    """Tokens that are reserved for the sheet of a summary that may take `room` tokens.

    Args:
        room: tokens of summary and sheet together.
        with_extract: whether no model writes the summary.
    """
    return max(0, min(MOST_TOKENS, room // (_SHARE_WITH_EXTRACT if with_extract else _SHARE)))


def render_facts(facts: Iterable[Fact], most_tokens: int, count: CountText) -> FactSheet:
    """Renders the facts with the highest value per token; superseded facts are neither shown nor in the overflow.

    Args:
        facts: facts of one thread, in sequence.
        most_tokens: upper bound of the sheet.
        count: counts tokens with the tokenizer of the model that will read the sheet.
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
    """Facts that a text which is shown with the sheet does not state.

    Their sentence is no part of it; of a field of a tool result, no line has its subject and its value.
    """
    said, lines = " ".join(text.split()), text.splitlines()
    return [fact for fact in facts if not (fact.text in said if fact.speaker else _is_recorded(fact, said, lines))]


def _is_recorded(fact: Fact, said: str, lines: Sequence[str]) -> bool:
    if fact.value not in said or fact.subject not in said:
        return False
    return any(fact.value in line and fact.subject in line for line in lines)


def _lines(facts: Iterable[Fact]) -> dict[str, list[Fact]]:
    """Current facts by the line that shows them: a sentence, or a single value if others of it are superseded."""
    ordered = list(facts)
    stale = {(fact.seq, fact.text) for fact in ordered if fact.superseded_by is not None}
    lines: dict[str, list[Fact]] = {}
    for fact in ordered:
        if fact.superseded_by is None:
            alone = (fact.seq, fact.text) in stale
            said = (
                f"{fact.subject} {fact.relation}: {fact.value}".lstrip()
                if alone or not fact.speaker
                else f"{fact.speaker}: {fact.text}"
            )
            lines.setdefault(f"{fact.seq} {said}", []).append(fact)
    return {_with_dates(line, held): held for line, held in lines.items()}


def _with_dates(line: str, facts: Iterable[Fact]) -> str:
    """A line with the absolute dates that its facts know."""
    for fact in facts:
        said, known, _ = fact.value.partition(" (")
        if known and fact.kind is Kind.DATE and fact.value not in line:
            line = line.replace(said, fact.value, 1)
    return line


def _worth(fact: Fact, often: int) -> float:
    named = _NAMED * (fact.relation != MENTIONS and fact.kind is not Kind.FIELD)
    asked = _ASKED if fact.speaker == "user" else 1
    return (_WORTHS.get(fact.kind, _WORTH) + named) * (1 + log2(often) / 2) * asked
