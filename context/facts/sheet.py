"""The sheet of facts that a window shows: most valuable first, bounded by tokens."""

from collections.abc import Iterable
from dataclasses import dataclass

from context.compression import CountText
from context.facts.values import Fact

MOST_TOKENS = 600
"""Of a sheet."""


@dataclass(frozen=True, slots=True)
class FactSheet:
    """Facts as text."""

    text: str
    """A line for each sentence that tells facts, in sequence; empty if there is none."""
    shown: tuple[Fact, ...]
    overflow: tuple[Fact, ...]
    """What holds and did not fit."""


def render_facts(facts: Iterable[Fact], most_tokens: int, count: CountText) -> FactSheet:
    """The most valuable facts that fit; what a later message contradicts is in neither list.

    Args:
        facts: of one thread.
        most_tokens: of the sheet.
        count: by the counter of the model that will read it.
    """
    held = [fact for fact in facts if fact.superseded_by is None]
    lines: dict[str, list[Fact]] = {}
    for fact in held:
        lines.setdefault(f"[{fact.seq}] {fact.text}", []).append(fact)
    shown: dict[str, list[Fact]] = {}
    room = most_tokens
    for line, told in lines.items():
        if (tokens := count(line + "\n")) <= room:
            shown[line] = told
            room -= tokens
    picked = tuple(fact for told in shown.values() for fact in told)
    return FactSheet("\n".join(shown), picked, tuple(fact for fact in held if fact not in set(picked)))
