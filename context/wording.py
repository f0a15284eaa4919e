"""Sentences, words, names and negations of a text, in any script: what picking, fact finding and scoring share."""

import re
from collections.abc import Iterator, Sequence

_LONGEST = 300
"""Characters of one sentence; longer ones, such as JSON, are cut into pieces."""
_SENTENCE_END = re.compile(r"(?<=[.!?…])\s+|(?<=[。！？；])|\n+")
_PIECE = re.compile(rf".{{1,{_LONGEST}}}(?:\s+|$)|.{{1,{_LONGEST}}}", re.DOTALL)
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?|\d+(?:[.,:/-]\d+)*")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
_NEGATION = re.compile(
    r"\b(?:no|not|never|none|nothing|without|cannot)\b|n['’]t\b|[不没無无未別别勿]|않|없", re.IGNORECASE
)
_STEM = 6


def sentences(text: str) -> Iterator[str]:
    """Sentences, none longer than 300 characters, with single spaces."""
    for sentence in _SENTENCE_END.split(text):
        for piece in _PIECE.findall(sentence.strip()):
            yield " ".join(piece.split())


def words(text: str) -> list[str]:
    """Words and numbers as they are written."""
    return _WORD.findall(text)


def negations(text: str) -> int:
    """How often it says no."""
    return len(_NEGATION.findall(text))


def stems(text: str, found: Sequence[str]) -> set[str]:
    """Beginnings of words, and pairs of characters where a script has no spaces."""
    pairs = (run[at : at + 2] for run in _CJK.findall(text) for at in range(len(run)))
    return {*pairs, *(word.lower()[:_STEM] for word in found if not _CJK.match(word))}
