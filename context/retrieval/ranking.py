"""Lexical ranking of turns for a question.

BM25 in which a term also counts, with decreasing weight, for the turns around its own: people answer without repeating
the question, and name a topic once. The few weights lie on wide plateaus; they were validated on English and Chinese
conversations (`purser bench memory`).
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from math import log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from purser.context.retrieval.postings import POSTING, spoken_by

K1 = 1.2
"""BM25 saturation: how quickly repetitions of a term stop to matter."""
B = 0.4
"""BM25 length normalization. Turns vary less in length than the documents for which 0.75 is usual."""
BEFORE, AFTER = 0.5, 0.3
"""Weight of a term in the turn right before and right after. A preceding turn indicates what a turn is about."""
DECAY, REACH = 0.8, 8
"""Decay of the weight per turn of distance, and the maximum distance in turns."""
SPEAKER = 0.25
"""Relative bonus of a turn whose speaker the question names."""

_DISTANCES = np.arange(-REACH, REACH + 1)
_WEIGHTS = np.where(_DISTANCES > 0, BEFORE, AFTER) * DECAY ** (np.abs(_DISTANCES) - 1.0)
_WEIGHTS[REACH] = 1.0

Floats = NDArray[np.float64]
Positions = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Thread:
    """Size of one indexed thread."""

    turns: int
    terms: int


@dataclass(frozen=True, slots=True)
class Posted:
    """Postings of one term in one thread."""

    thread: int
    """Index of the thread among those searched."""
    term: str
    postings: bytes
    """Packed `POSTING`s."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A turn that was found."""

    thread: int
    place: int
    score: float


def wanted(query: Collection[str]) -> list[str]:
    """The terms whose postings `rank` needs."""
    return sorted({*query, *map(spoken_by, query)})


def rank(
    query: Sequence[str],
    threads: Sequence[Thread],
    posted: Iterable[Posted],
    *,
    without: Collection[tuple[int, int]] = (),
    limit: int,
) -> list[Hit]:
    """Ranks the turns that match a question, best first.

    Args:
        query: terms of the question.
        threads: all searched threads; terms have no effect across threads.
        posted: postings of the terms in `wanted(query)`, in any order.
        without: thread and place of turns to leave out; their words still count for their neighbours.
        limit: maximum number of turns.
    """
    sizes = np.array([thread.turns for thread in threads], np.int64)
    # Threads are padded with as many empty positions as a term can reach.
    starts: Positions = np.cumsum(sizes + REACH) - sizes
    turns, length = int(sizes.sum()), sum(thread.terms for thread in threads)
    found = _by_term(posted, starts)
    scores = np.zeros(turns + REACH * (len(threads) + 1))
    for term, times in Counter(query).items():
        if term in found:
            positions, postings = found[term]
            share = postings["count"] / (1 - B + B * postings["length"] * turns / length)
            scores += times * _idf(len(positions), turns) * _saturated(_spread(positions, share, len(scores)))
    spoken = [found[mark][0] for term in set(query) if (mark := spoken_by(term)) in found]
    if spoken:
        scores[np.unique(np.concatenate(spoken))] *= 1 + SPEAKER
    scores[[starts[thread] + place for thread, place in without]] = 0
    scores[:REACH] = 0
    scores[(starts + sizes)[:, None] + np.arange(REACH)] = 0
    best = _best(scores, limit)
    of = np.searchsorted(starts, best, side="right") - 1
    return [Hit(int(at), int(one - starts[at]), float(scores[one])) for one, at in zip(best, of, strict=True)]


def _by_term(posted: Iterable[Posted], starts: Positions) -> dict[str, tuple[Positions, NDArray[Any]]]:
    """Positions and postings of each term over all threads."""
    parts: defaultdict[str, list[Posted]] = defaultdict(list)
    for one in posted:
        parts[one.term].append(one)
    found = {}
    for term, some in parts.items():
        postings = np.frombuffer(b"".join(one.postings for one in some), POSTING)
        held = [len(one.postings) // POSTING.itemsize for one in some]
        found[term] = postings["place"] + np.repeat(starts[[one.thread for one in some]], held), postings
    return found


def _spread(positions: Positions, share: Floats, size: int) -> Floats:
    """Weighted frequency of a term at each position, including its neighbours."""
    around = (positions[:, None] + _DISTANCES).ravel()
    return np.asarray(np.bincount(around, (share[:, None] * _WEIGHTS).ravel(), minlength=size), np.float64)


def _saturated(frequency: Floats) -> Floats:
    return frequency * (K1 + 1) / (frequency + K1)


def _idf(holding: int, turns: int) -> float:
    return log(1 + (turns - holding + 0.5) / (holding + 0.5))


def _best(scores: Floats, limit: int) -> Positions:
    """Positions of the highest scores above 0, best first; ties in order of position."""
    positive = np.flatnonzero(scores)
    if 0 < limit < len(positive):
        least = np.partition(scores[positive], -limit)[-limit]
        positive = positive[scores[positive] >= least]
    return positive[np.argsort(-scores[positive], kind="stable")][:limit]
