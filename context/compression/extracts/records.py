"""Compact records of tool calls: the call with its outcome, as text that never ends inside a value."""

import json
import re
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from purser.context.compression.requests import Call, Passage

_LONGEST = 160
"""Characters of a value or a line of plain text; longer ones end with an ellipsis."""
_DEEPEST = 50
"""Levels of a JSON value that is looked through; a deeper one is read as plain text."""
_REFERENCE = re.compile(r"\b(?=\w*\d)[\w-]{4,}\b")
"""Ids, dates and long numbers: what a later message refers to."""
_VERB = re.compile(
    r"(?:^|[_\W])(?:get|list|find|search|read|fetch|show|look|check|view|describe|query|count"
    r"|(?P<changes>add|apply|approve|assign|book|cancel|change|close|commit|confirm|create|delete|deploy|edit|exchange"
    r"|insert|modify|move|order|pay|post|publish|put|refund|register|remove|rename|reserve|return|run|schedule|send|set"
    r"|submit|transfer|update|upload|write))(?=[_\W]|(?-i:[A-Z])|$)",
    re.IGNORECASE,
)
"""What a tool does: the first verb of its name, because `get_order` orders nothing."""
_DECIDES = re.compile(
    r"(?i:amount|balance|price|total|cost|fee|fare|limit|quota|points|refund|status|state|result|error|success|fail"
    r"|available|answer|output)"
)
"""Amounts and outcomes, by the name of their field."""


@dataclass(frozen=True)
class Record:
    """A tool call with its result."""

    place: int
    """Index of the message that calls."""
    call: Call
    result: str
    used: frozenset[str]
    """References of later messages."""
    seen: frozenset[str]
    """What results of earlier calls say."""
    named: bool = False
    """Whether its arguments have a reference that a user names or a later call that changes something has."""

    def text(self, most_characters: int) -> str:
        """The call and its outcome.

        Half of the room is for the outcome. Of what does not fit, rows that later messages refer to and rows that no
        earlier result contains come first, and the number of rows that are left out is stated.

        Args:
            most_characters: room of the record.
        """
        arguments = _parsed(self.call.arguments)
        asked = _rows(arguments) if isinstance(arguments, dict | list) else _lines(self.call.arguments)
        rows = self.rows
        wanted = [self._rank(row) for row in rows]
        head = f"{self.call.name}({_some(asked, [0] * len(asked), ', ', most_characters // 2)}) → "
        return head + _some(rows, wanted, " / ", most_characters - len(head))

    @cached_property
    def rows(self) -> list[str]:
        """The whole outcome, row by row."""
        return self._outcome(_parsed(self.call.arguments))

    def _outcome(self, arguments: Any) -> list[str]:
        known = {str(one) for one in _leaves(arguments)}
        found = _parsed(self.result)
        rows = _rows(found, known) if isinstance(found, dict | list) else _lines(self.result)
        return rows or ["nothing"]

    def _rank(self, row: str) -> int:
        """The lower, the sooner a row is shown."""
        rank = 0 if not self.used.isdisjoint(references(row)) else 1 if decides(row) else 2
        return rank + 3 * (row in self.seen)


def records(passages: Sequence[Passage]) -> Iterator[Record]:
    """Yields each call with its result; a call that a later one with the same arguments repeats is left out, unless it
    changes something."""
    calls: dict[str, tuple[int, Call]] = {}
    found: list[tuple[int, int, Call]] = []
    for place, passage in enumerate(passages):
        if passage.answers in calls:
            asked, call = calls.pop(passage.answers)
            found.append((asked, place, call))
        calls |= {call.id: (place, call) for call in passage.calls}
    last = {(call.name, call.arguments): answered for _, answered, call in found}
    used, later = set[str](), len(passages)
    named = {reference for passage in passages if passage.role == "user" for reference in references(passage.said)}
    retained: list[tuple[int, int, Call, frozenset[str], bool]] = []
    for asked, answered, call in reversed(found):
        while later > answered + 1:
            later -= 1
            if passages[later].role != "tool":
                used |= references(passages[later].text)
        if is_change(call.name) or last[call.name, call.arguments] == answered:
            own = references(call.arguments)
            retained.append((asked, answered, call, frozenset(used), not named.isdisjoint(own)))
            if is_change(call.name):
                named |= own
    seen = set[str]()
    for asked, answered, call, after, is_named in reversed(retained):
        record = Record(asked, call, passages[answered].said, after, frozenset(seen), is_named)
        yield record
        seen.update(record.rows)


def outcome(text: str, most_characters: int) -> str:
    """The output of a tool whose call is unknown, line by line."""
    found = _parsed(text)
    rows = _rows(found) if isinstance(found, dict | list) else _lines(text)
    return _some(rows, [0] * len(rows), " / ", most_characters)


def is_change(name: str) -> bool:
    """Whether the name of a tool says that it changes something."""
    verb = _VERB.search(name)
    return verb is not None and verb["changes"] is not None


def decides(name: str) -> bool:
    """Whether the name of a field says that it holds an amount or an outcome."""
    return _DECIDES.search(name) is not None


def references(text: str) -> set[str]:
    """Ids, dates and numbers of at least four characters."""
    return set(_REFERENCE.findall(text))


def _some(rows: Sequence[str], ranks: Sequence[int], between: str, most_characters: int) -> str:
    """As many rows as fit, in their order: those of the lowest rank first."""
    picked, room = set[int](), most_characters
    for place in sorted(range(len(rows)), key=lambda place: (ranks[place], place)):
        if len(rows[place]) + len(between) <= room:
            picked.add(place)
            room -= len(rows[place]) + len(between)
    left = len(rows) - len(picked)
    return between.join([*(rows[place] for place in sorted(picked)), *([f"… {left} more"] if left else [])])


def _parsed(text: str) -> Any:
    """The JSON value of a text; `None` if it is none, or one that is nested too deeply to be looked through."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    inner = [value]
    for _ in range(_DEEPEST):
        inner = [one for outer in inner for one in (outer.values() if isinstance(outer, dict) else _items(outer))]
        if not inner:
            return value
    return None


def _items(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _lines(text: str) -> list[str]:
    return [_line(line) for line in text.splitlines() if line.strip()]


def _rows(value: Any, known: Set[str] = frozenset()) -> list[str]:
    """A value as rows: the fields of an object, the entries of a list; empty and known values are left out."""
    if isinstance(value, list):
        return [text for row in value if (text := _flat(row, known))]
    if not isinstance(value, dict):
        return [_line(str(value))]
    found: list[str] = []
    for name, one in value.items():
        entries = one.items() if isinstance(one, dict) else list(enumerate(one)) if isinstance(one, list) else ()
        rows = [(key, row) for key, row in entries if isinstance(row, dict)]
        if rows and len(rows) == len(entries):
            found += (
                f"{name}{f' {key}' if isinstance(key, str) else ''}: {_flat(row, {str(key)})}" for key, row in rows
            )
        elif text := _flat(one, known):
            found.append(f"{name}: {text}")
    return found


def _flat(value: Any, known: Set[str] = frozenset()) -> str:
    """A value on one line; of an object, values that carry letters and digits stand without their names."""
    if isinstance(value, dict):
        return ", ".join(text for name, one in value.items() if (text := _field(name, one, known)))
    if isinstance(value, list):
        return ", ".join(f"({_flat(one, known)})" if isinstance(one, dict) else _flat(one, known) for one in value)
    if value is None or str(value) in known:
        return ""
    return str(value).lower() if isinstance(value, bool) else _line(str(value))


def _field(name: str, value: Any, known: Set[str]) -> str:
    text = _flat(value, known)
    if not text:
        return ""
    if isinstance(value, dict):
        return f"{name} ({text})"
    return f"{name} {text}" if isinstance(value, bool | int | float | list) else text


def _line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST].rsplit(' ', 1)[0]} …"


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _leaves(one)
    elif value is not None:
        yield value
