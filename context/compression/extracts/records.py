"""Compact records of tool calls: the call with its outcome, as text that never ends inside a value."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from purser.context.compression.extracts.uptake import marked_words
from purser.context.compression.requests import Call, Passage
from purser.context.conversation.wording import CJK

_LONGEST = 160
"""Characters of a value or a line of plain text; longer ones end with an ellipsis."""
_DEEPEST = 50
"""Levels of a JSON value that is looked through; a deeper one is read as plain text."""
_REFERENCE = re.compile(r"\b(?=\w*\d)[\w-]{4,}\b")
"""Ids, dates and long numbers: what a later message refers to."""
_VERB = re.compile(
    r"(?:^|[_\W])(?:get|list|find|search|read|fetch|show|look|check|view|describe|query|count"
    r"|laden|lesen|suchen|zeigen|abfragen|pr[uü]fen|buscar|consultar|listar|leer|ler|ver|chercher|consulter|lister|lire"
    r"|voir"
    r"|(?P<changes>add|apply|approve|assign|book|cancel|change|close|commit|confirm|create|delete|deploy|edit|exchange"
    r"|insert|modify|move|order|pay|post|publish|put|refund|register|remove|rename|reserve|return|run|schedule|send|set"
    r"|submit|transfer|update|upload|write"
    r"|anlegen|[aä]ndern|bestellen|bezahlen|buchen|erstatten|erstellen|l[oö]schen|senden|stornieren|umbuchen|verschieben"
    r"|abrir|alterar|actualizar|atualizar|borrar|cambiar|cancelar|confirmar|crear|criar|desplegar|devolver|eliminar|enviar"
    r"|excluir|modificar|pagar|reservar"
    r"|annuler|changer|confirmer|cr[eé]er|d[eé]placer|envoyer|modifier|payer|rembourser|r[eé]server|supprimer))"
    r"(?=[_\W]|(?-i:[A-Z])|$)",
    re.IGNORECASE,
)
"""What a tool does: the first verb of its name, because `get_order` orders nothing."""
_DECIDES = re.compile(
    r"(?i:amount|balance|price|total|cost|fee|fare|limit|quota|points|refund|status|state|result|error|success|fail"
    r"|available|answer|output|betrag|preis|summe|fehler|ergebnis|importe|precio|saldo|estado|montant|prix|solde|statut"
    r"|erreur|résultat|preço|valor|金额|价格|余额|状态|结果|错误|金額|料金|合計|状態|結果)"
)
"""Amounts and outcomes, by the name of their field."""
_FAILS = re.compile(
    r"(?i:error|exception|denied|refused|timed? ?out|traceback)|\b(?i:fail(?:s|ed|ure)?|fatal|panic|expired)\b"
)
"""Lines of plain text that tell why something did not work."""
_REFERRED, _FAILED, _DECIDING, _OTHER = range(4)
"""Ranks of rows, best first."""
_CJK_MARK = 4
"""Characters that stand for a name where words have no spaces."""
_RULER = re.compile(r"[\W_]*")
"""A line without a letter or digit, such as that under the head of a table."""


class _Row(NamedTuple):
    """A part of an outcome that is shown whole or not at all."""

    text: str
    of: str = ""
    """The list of which it is an entry; empty for a field."""


@dataclass(frozen=True)
class Record:
    """A tool call with its result."""

    place: int
    """Index of the message that calls."""
    answered: int
    """Index of the message with the result."""
    call: Call
    result: str
    used: Mapping[str, int]
    """Index of the last message that says a mark; results do not count."""
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

        Returns:
            The record; empty where no row of the outcome fits.
        """
        asked = [row.text for row in _shown(self.call.arguments)]
        head = f"{self.call.name}({_some(asked, range(len(asked)), ', ', most_characters // 2) or '…'}) → "
        shown = _some(self.rows, self._order, " / ", most_characters - len(head))
        return f"{head}{shown}" if shown else ""

    @cached_property
    def rows(self) -> list[str]:
        """The whole outcome, row by row."""
        return [row.text for row in self._rows]

    @cached_property
    def _rows(self) -> list[_Row]:
        known = {str(one) for one in _leaves(_parsed(self.call.arguments))}
        return _shown(self.result, known) or [_Row("nothing")]

    @cached_property
    def _order(self) -> list[int]:
        """Places of the rows to show, best first: those that later messages refer to, failures, amounts and outcomes.

        Of a list with entries of the first two kinds, only these are shown: who chose one of twenty flights never asks
        for the others.
        """
        marked = [marks(row) for row in self.rows]
        spread = Counter(mark for own in marked for mark in own)
        # What several rows share, such as a year, refers to none of them.
        hits = [sum(spread[one] == 1 and self.used.get(one, 0) > self.answered for one in own) for own in marked]
        ranks = [
            _REFERRED if hit else _FAILED if _FAILS.search(row) else _DECIDING if decides(row) else _OTHER
            for row, hit in zip(self.rows, hits, strict=True)
        ]
        narrowed = {row.of for row, rank in zip(self._rows, ranks, strict=True) if rank <= _FAILED and row.of}
        places = [
            place
            for place, row in enumerate(self._rows)
            if ranks[place] <= _FAILED or row.of not in narrowed or (place == 0 and _is_table(self._rows))
        ]
        return sorted(places, key=lambda place: (self.rows[place] in self.seen, ranks[place], -hits[place], place))


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
    used = {
        mark: place
        for place, passage in enumerate(passages)
        if passage.role != "tool"
        for mark in (marks(passage.text) if found else ())
    }
    named = {reference for passage in passages if passage.role == "user" for reference in references(passage.said)}
    retained: list[tuple[int, int, Call, bool]] = []
    for asked, answered, call in reversed(found):
        if is_change(call.name) or last[call.name, call.arguments] == answered:
            own = references(call.arguments)
            retained.append((asked, answered, call, not named.isdisjoint(own)))
            if is_change(call.name):
                named |= own
    seen = set[str]()
    for asked, answered, call, is_named in reversed(retained):
        record = Record(asked, answered, call, passages[answered].said, used, frozenset(seen), is_named)
        yield record
        seen.update(record.rows)


def outcome(text: str, most_characters: int) -> str:
    """The output of a tool whose call is unknown, line by line."""
    rows = [row.text for row in _shown(text)]
    return _some(rows, range(len(rows)), " / ", most_characters)


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


def marks(text: str) -> set[str]:
    """What a later message repeats of something that it refers to: references, names, and where words have no spaces,
    a few characters of each."""
    runs = (run[at : at + _CJK_MARK] for run in CJK.findall(text) for at in range(len(run) - _CJK_MARK + 1))
    return {*references(text), *marked_words(text), *runs}


def _some(rows: Sequence[str], order: Sequence[int], between: str, most_characters: int) -> str:
    """As many rows as fit, in their order: the first in `order` first."""
    picked, room = set[int](), most_characters
    for place in order:
        if len(rows[place]) + len(between) <= room:
            picked.add(place)
            room -= len(rows[place]) + len(between)
    if rows and not picked:
        return ""
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


def _shown(text: str, known: Set[str] = frozenset()) -> list[_Row]:
    """The rows of a JSON value, or else the lines of a text that say something."""
    found = _parsed(text)
    if isinstance(found, dict | list):
        return _rows(found, known)
    return [_Row(_line(line), "lines") for line in text.splitlines() if not _RULER.fullmatch(line)]


def _is_table(rows: Sequence[_Row]) -> bool:
    """Whether the first lines of a text have as many cells, so that the first one names the columns."""
    head, *others = (row.text if row.of == "lines" else "" for row in rows[:2])
    return any(0 < head.count(mark) == one.count(mark) for one in others for mark in "|,;")


def _rows(value: Any, known: Set[str] = frozenset()) -> list[_Row]:
    """A value as rows: the fields of an object, the entries of a list; empty and known values are left out."""
    if isinstance(value, list):
        return [_Row(text, "list") for row in value if (text := _flat(row, known))]
    if not isinstance(value, dict):
        return [_Row(_line(str(value)))]
    found: list[_Row] = []
    for name, one in value.items():
        entries = one.items() if isinstance(one, dict) else list(enumerate(one)) if isinstance(one, list) else ()
        rows = [(key, row) for key, row in entries if isinstance(row, dict)]
        if rows and len(rows) == len(entries):
            found += (
                _Row(f"{name}{f' {key}' if isinstance(key, str) else ''}: {_flat(row, {str(key)})}", name)
                for key, row in rows
            )
        elif (text := _flat(one, known)) and len(text) > _LONGEST and isinstance(one, dict):
            found += _rows(one, known)
        elif len(text) > _LONGEST and isinstance(one, list):
            found += (_Row(f"{name}: {row.text}", name) for row in _rows(one, known))
        elif text:
            found.append(_Row(f"{name}: {text}"))
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
