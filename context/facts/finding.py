"""Facts of messages, taken word for word by patterns: few and certain before many."""

import re
from collections.abc import Iterable, Iterator

from context.compression import Redact, unchanged
from context.facts.values import MENTIONS, Fact, Kind, supersede
from context.messages import SYSTEM_ROLES, StoredMessage
from context.wording import sentences

_VALUES = (
    (Kind.PATH, re.compile(r"https?://[^\s\"'<>）)]+[^\s\"'<>）).,;:!?]|(?<![\w/])(?:~|\.{1,2})?(?:/[\w.-]+){2,}")),
    (Kind.MONEY, re.compile(r"[$€£¥]\s?\d[\d,]*(?:\.\d+)?|\d[\d,]*(?:\.\d+)?\s?(?:dollars|euros|USD|EUR|元|块)")),
    (Kind.DATE, re.compile(r"\b\d{4}-\d{2}-\d{2}\b|\d{1,2}月\d{1,2}[日号]")),
)


def extract_facts(messages: Iterable[StoredMessage], redact: Redact = unchanged) -> list[Fact]:
    """The facts of some messages in sequence, those that a later one of them contradicts marked.

    System messages tell none: every window shows them.

    Args:
        messages: of one thread.
        redact: applied to text before anything is taken from it.
    """
    told = (fact for stored in messages if stored.message.role not in SYSTEM_ROLES for fact in _facts(stored, redact))
    return supersede(dict.fromkeys(told))


def _facts(stored: StoredMessage, redact: Redact) -> Iterator[Fact]:
    speaker = stored.message.name or stored.message.role
    for sentence in sentences(redact(stored.message.text).replace("\0", "")):
        for kind, pattern in _VALUES:
            for value in pattern.findall(sentence):
                yield Fact(stored.seq, kind, speaker, MENTIONS, value, sentence)
