"""Postings of the retrieval index: which term occurs in which turn of a conversation, and how often.

The **place** of a turn is its number in the thread, from 0 without gaps: neighbours have consecutive places.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from purser.context.retrieval.words import terms

POSTING = np.dtype([("place", "<u4"), ("count", "<u2"), ("length", "<u2")])
"""One turn that contains a term: occurrences of the term, and number of terms in the turn."""
BLOCK = 1024
"""Places per row: the postings of a term in so many places of a thread share one row."""
_MOST = 2**16 - 1


@dataclass(frozen=True, slots=True)
class Turn:
    """The text of a message and its speaker."""

    name: str | None
    """Name of the speaker, if known."""
    text: str


@dataclass(frozen=True, slots=True)
class Indexed:
    """Index entries of consecutive turns of a thread."""

    postings: Mapping[tuple[str, int], bytes]
    """Packed `POSTING`s by term and block, in order of place."""
    turns: int
    terms: int
    """Total length of the turns."""


def spoken_by(term: str) -> str:
    """The term that marks every turn of a speaker whose name holds `term`."""
    return f"@{term}"


def index(turns: Sequence[Turn], first_place: int) -> Indexed:
    """Builds the postings of consecutive turns from `first_place`.

    The name of the speaker is indexed with the text, so that questions can name the speaker.
    """
    rows: defaultdict[tuple[str, int], list[tuple[int, int, int]]] = defaultdict(list)
    total = 0
    for place, turn in enumerate(turns, first_place):
        speaker = terms(turn.name or "")
        said = speaker + terms(turn.text)
        length = min(len(said), _MOST)
        for term, count in (Counter(said) + Counter(map(spoken_by, set(speaker)))).items():
            rows[term, place // BLOCK].append((place, min(count, _MOST), length))
        total += length
    packed = {key: np.array(found, POSTING).tobytes() for key, found in rows.items()}
    return Indexed(packed, len(turns), total)
