"""Postings of the retrieval index: which term occurs in which turn of a conversation, and how often.

The **place** of a turn is its number in the thread, from 0 without gaps: neighbours have consecutive places.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from itertools import count, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from purser.context.retrieval.dates import date_terms
from purser.context.retrieval.words import terms

POSTING = np.dtype([("place", "<u4"), ("count", "<u2"), ("length", "<u2")])
"""One turn that contains a term: occurrences of the term, and number of terms in the turn."""
BLOCK = 4096
"""Places per row: the postings of a term in so many places of a thread share one row."""
USER, ASKS = 1, 2
"""Flags of a turn: a user speaks; it ends with a question."""
_MOST = 2**16 - 1
_ASKS = re.compile(r"[?？؟吗呢][^\w]*\Z")


@dataclass(frozen=True, slots=True)
class Turn:
    """The text of a message, its speaker and its day."""

    role: str
    name: str | None
    """Name of the speaker, if known."""
    text: str
    day: date


@dataclass(frozen=True, slots=True)
class Indexed:
    """Index entries of consecutive turns of a thread."""

    postings: Mapping[tuple[str, int], bytes]
    """Packed `POSTING`s by term and block, in order of place."""
    flags: bytes
    """One byte a turn."""
    terms: int
    """Total number of terms of the turns."""
    size: int
    """Total size of their texts in bytes."""
    user_size: int
    """Size of those of users."""


def spoken_by(term: str) -> str:
    """The term that marks every turn of a speaker whose name holds `term`."""
    return f"@{term}"


def index(turns: Sequence[Turn], first_place: int) -> Indexed:
    """Builds the postings of consecutive turns from `first_place`.

    The name of the speaker is indexed with the text, so that questions can name the speaker. The day is indexed by its
    date terms, which do not count for the length.
    """
    numbers: defaultdict[str, int] = defaultdict(count().__next__)
    of, held, lengths, flags, sizes = list[int](), list[int](), list[int](), bytearray(), Counter[bool]()
    for turn in turns:
        speaker, said = _speaker(turn.name), terms(turn.text)
        marks = _marks(turn.name, turn.day)
        for some in (speaker, said, marks):
            of += map(numbers.__getitem__, some)
        lengths.append(len(speaker) + len(said))
        held.append(lengths[-1] + len(marks))
        by_user = turn.role == "user"
        sizes[by_user] += len(turn.text.encode())
        flags.append(USER * by_user | ASKS * bool(_ASKS.search(turn.text)))
    # Each turn and term as one number, in the order of the rows: by term, then by place.
    at = np.repeat(np.arange(len(turns)), held)
    found, counts = np.unique(np.array(of, np.int64) * len(turns) + at, return_counts=True)
    of_term, at = np.divmod(found, max(1, len(turns)))
    postings = np.empty(len(found), POSTING)
    postings["place"] = first_place + at
    postings["count"] = np.minimum(counts, _MOST)
    postings["length"] = np.minimum(np.array(lengths)[at], _MOST)
    rows = _rows(list(numbers), of_term, postings)
    return Indexed(dict(rows), bytes(flags), sum(lengths), sizes.total(), sizes[True])


@lru_cache(maxsize=1024)
def _speaker(name: str | None) -> tuple[str, ...]:
    """The terms of a speaker's name."""
    return tuple(terms(name or ""))


@lru_cache(maxsize=1024)
def _marks(name: str | None, day: date) -> tuple[str, ...]:
    """The terms that mark the turns of a speaker and of a day."""
    return (*map(spoken_by, dict.fromkeys(_speaker(name))), *date_terms(day))


def _rows(
    names: Sequence[str], numbers: NDArray[np.int64], postings: NDArray[Any]
) -> Iterator[tuple[tuple[str, int], bytes]]:
    """Rows of postings, which are in order of term and place: `numbers` holds the number of the term of each."""
    blocks = postings["place"].astype(np.int64) // BLOCK
    changes = np.flatnonzero((np.diff(numbers) != 0) | (np.diff(blocks) != 0)) + 1
    starts = [0, *changes.tolist()] if len(postings) else []
    packed, size = postings.tobytes(), POSTING.itemsize
    for start, end in pairwise([*starts, len(postings)]):
        yield (names[numbers[start]], int(blocks[start])), packed[size * start : size * end]
