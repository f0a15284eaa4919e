"""Postings of the retrieval index: which term occurs in which turn of a conversation, and how often.

The **place** of a turn is its number in the thread, from 0 without gaps: neighbours have consecutive places.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
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
    of, counts, held, lengths, flags = list[int](), list[int](), list[int](), list[int](), bytearray()
    sizes = Counter[bool]()
    for turn in turns:
        speaker = terms(turn.name or "")
        said = speaker + terms(turn.text)
        counted = Counter([*said, *map(spoken_by, set(speaker)), *date_terms(turn.day)])
        of += [numbers[term] for term in counted]
        counts += counted.values()
        held.append(len(counted))
        lengths.append(len(said))
        by_user = turn.role == "user"
        sizes[by_user] += len(turn.text.encode())
        flags.append(USER * by_user | ASKS * bool(_ASKS.search(turn.text)))
    per_turn = np.array(held, np.int64)
    postings = np.empty(len(of), POSTING)
    postings["place"] = np.repeat(np.arange(first_place, first_place + len(turns)), per_turn)
    postings["count"] = np.minimum(counts, _MOST)
    postings["length"] = np.minimum(np.repeat(lengths, per_turn), _MOST)
    rows = _rows(list(numbers), np.array(of, np.int64), postings)
    return Indexed(dict(rows), bytes(flags), sum(lengths), sizes.total(), sizes[True])


def _rows(
    names: Sequence[str], numbers: NDArray[np.int64], postings: NDArray[Any]
) -> Iterator[tuple[tuple[str, int], bytes]]:
    """Rows of postings in order of place: `numbers` holds the number of the term of each."""
    blocks = postings["place"].astype(np.int64) // BLOCK
    order = np.lexsort((blocks, numbers))
    postings, numbers, blocks = postings[order], numbers[order], blocks[order]
    changes = np.flatnonzero((np.diff(numbers) != 0) | (np.diff(blocks) != 0)) + 1
    starts = [0, *changes.tolist()] if len(postings) else []
    for start, end in pairwise([*starts, len(postings)]):
        yield (names[numbers[start]], int(blocks[start])), postings[start:end].tobytes()
