"""What the index keeps of a conversation: which term stands in which of its turns, and how often.

Turns of a thread are numbered from 0 without gaps, their **place**: neighbours have neighbouring places.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from purser.context.retrieval.words import terms

POSTING = np.dtype([("place", "<u4"), ("count", "<u2"), ("length", "<u2")])
"""One turn that holds a term: how often, and how many terms the turn has."""
BLOCK = 1024
"""Places of a thread whose postings of a term stand in one row."""
_MOST = 2**16 - 1


@dataclass(frozen=True, slots=True)
class Turn:
    """What somebody said."""

    name: str | None
    """Who, where it is known."""
    text: str


@dataclass(frozen=True, slots=True)
class Indexed:
    """What some turns add to the index of their thread."""

    postings: Mapping[tuple[str, int], bytes]
    """Packed `POSTING`s by term and block, in order of place."""
    turns: int
    terms: int
    """Total length of the turns."""


def spoken_by(term: str) -> str:
    """The term that marks every turn of a speaker whose name holds `term`."""
    return f"@{term}"


def index(turns: Sequence[Turn], first_place: int) -> Indexed:
    """Postings of turns that stand one after another from `first_place`.

    A turn reads as "NAME said, TEXT": who spoke is part of what can be asked.
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
