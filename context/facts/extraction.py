"""Fact extraction: takes facts word for word from messages."""

import json
import re
from collections.abc import Iterable, Iterator

from purser.context.compression.requests import Redact, unchanged
from purser.context.conversation.messages import SYSTEM_ROLES, StoredMessage
from purser.context.conversation.storable import storable
from purser.context.conversation.wording import sentences
from purser.context.facts.patterns import values
from purser.context.facts.statements import about, owner, statements
from purser.context.facts.values import DECIDES, MENTIONS, RULES_OUT, Fact, Kind, supersede

_LONGEST_VALUE = 80
"""Maximum characters of a field's value; a longer one is a text."""
_MOST_FIELDS = 60
"""Maximum fields of one tool result; a larger result is a listing."""
_LONGEST_TEXT = 90
"""Maximum characters of a sentence that is shown whole."""
_PART_END = re.compile(
    r"(?<=[,;:]) (?:and |but |or )?| (?=[–—-] )|(?<=[，；：])| (?=(?:and|but|because|so|which|while) )"
)
_LONGEST_DIALOGUE = 2_000
"""Characters above which a message is a document, of which only statements, paths and named values count."""
_EDGES = " ,;:，；：–—-"
_RELATIONS = {Kind.NEGATION: RULES_OUT, Kind.DECISION: DECIDES}


def extract_facts(messages: Iterable[StoredMessage], redact: Redact = unchanged) -> list[Fact]:
    """Extracts the facts of messages in sequence and marks those that a later message contradicts.

    System messages yield none, because every window shows them. A value that is mentioned again yields one fact.

    Args:
        messages: messages of one thread.
        redact: applied to each text before facts are extracted.
    """
    found = [stored for stored in messages if stored.message.role not in SYSTEM_ROLES]
    speakers = {_speaker(stored) for stored in found}
    facts: dict[tuple[str, ...], Fact] = {}
    for stored in found:
        for fact in _facts(stored, redact):
            if fact.kind is not Kind.NAME or fact.value not in speakers:
                facts.setdefault(_repeats(fact), fact)
    return supersede(facts.values())


def _repeats(fact: Fact) -> tuple[str, ...]:
    """Key of repeated facts, of which only the first is returned; a fact with a topic is unique per message."""
    named = (fact.kind, fact.subject, fact.relation, fact.value)
    return named if fact.topic is None else (*named, str(fact.seq))


def _speaker(stored: StoredMessage) -> str:
    return stored.message.name or stored.message.role


def _facts(stored: StoredMessage, redact: Redact) -> Iterator[Fact]:
    text = redact(storable(stored.message.text))
    if stored.message.role == "tool":
        yield from _of_tool(stored, text)
        return
    speaker = _speaker(stored)
    is_dialogue = len(text) <= _LONGEST_DIALOGUE
    for sentence in sentences(text):
        for kind, match in values(sentence):
            subject, relation = owner(sentence[: match.start()], speaker) or (speaker, MENTIONS)
            if is_dialogue or kind is Kind.PATH or relation != MENTIONS:
                yield Fact(stored.seq, kind, subject, relation, match[0].strip(_EDGES), _around(match), speaker)
        for kind, match in statements(sentence):
            relation = _RELATIONS.get(kind) or about(match)
            yield Fact(stored.seq, kind, speaker, relation, match[0].strip(_EDGES), _around(match), speaker)


def _around(match: re.Match[str]) -> str:
    """The sentence of a match, or of a long one the clauses that it touches; short clauses join the previous one."""
    sentence = match.string
    if len(sentence) <= _LONGEST_TEXT:
        return sentence
    ends = [0, *(found.end() for found in _PART_END.finditer(sentence)), len(sentence)]
    last = next(index for index, end in enumerate(ends) if end >= match.end())
    first = max(index for index, end in enumerate(ends) if end <= match.start())
    while first > 0 and ends[last] - ends[first] < _LONGEST_TEXT // 3:
        first -= 1
    return sentence[ends[first] : ends[last]].strip(_EDGES)


def _of_tool(stored: StoredMessage, text: str) -> Iterator[Fact]:
    """Facts of a tool result: the fields of a JSON object, keyed by its id; only paths of any other result."""
    speaker = _speaker(stored)
    try:
        value = storable(json.loads(text))
    except (ValueError, RecursionError):
        value = None
    if isinstance(value, dict):
        fields = list(_fields(value, speaker, ""))
        if len(fields) <= _MOST_FIELDS:
            for subject, path, kind, content in fields:
                yield Fact(stored.seq, kind, subject, path, content, f"{subject} {path}: {content}", "")
        return
    for sentence in sentences(text) if value is None else ():
        for kind, match in values(sentence):
            if kind is Kind.PATH:
                yield Fact(stored.seq, kind, speaker, MENTIONS, match[0], _around(match), speaker)


def _fields(value: object, subject: str, path: str) -> Iterator[tuple[str, str, Kind, str]]:
    """Yields subject, path below it, kind and text of every value in an object."""
    if isinstance(value, dict):
        own = next((str(item) for key, item in value.items() if key.endswith(("_id", "id")) and _is_scalar(item)), None)
        for key, item in value.items():
            below = key if own else ".".join(filter(None, (path, key)))
            yield from _fields(item, own or subject, below)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _fields(item, subject, f"{path}.{index}")
    elif _is_scalar(value) and str(value) and len(str(value)) <= _LONGEST_VALUE and str(value) != subject:
        content = value if isinstance(value, str) else json.dumps(value)
        kind = next((kind for kind, match in values(content) if match[0] == content), Kind.FIELD)
        yield subject, path, kind, content


def _is_scalar(value: object) -> bool:
    return isinstance(value, str | int | float | bool)
