"""Which turns answer a question, by its words.

BM25 in which a term also counts, less and less, for the turns around the one where it stands: people answer without
repeating the question, and a topic is named once. The weights are few and lie on wide plateaus; they were checked on
English and Chinese conversations (`purser bench memory`).
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
"""How soon more of one term stops to matter."""
B = 0.4
"""How much a long turn counts less. Turns of a conversation differ less than the documents that 0.75 is usual for."""
BEFORE, AFTER = 0.5, 0.3
"""Weight of a term in the turn right before, and right after. What was said before tells what a turn is about."""
DECAY, REACH = 0.8, 8
"""Each turn further away weighs so much less, up to so many turns."""
SPEAKER = 0.25
"""By how much a turn gains whose speaker the question names."""

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
    """Which of the searched threads."""
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
    """The turns that fit a question best, best first.

    Args:
        query: its terms.
        threads: all that are searched; nothing counts from one to the other.
        posted: postings of the terms in `wanted(query)`, in any order.
        without: thread and place of turns that are not wanted. They still lend their words to their neighbours.
        limit: turns at most.
    """
    sizes = np.array([thread.turns for thread in threads], np.int64)
    # Before, between and after threads stand as many empty positions as a term can reach.
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
    """Positions and postings of each term, over all threads."""
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
    """How much of a term each position has, its neighbours' included."""
    around = (positions[:, None] + _DISTANCES).ravel()
    return np.asarray(np.bincount(around, (share[:, None] * _WEIGHTS).ravel(), minlength=size), np.float64)


def _saturated(frequency: Floats) -> Floats:
    return frequency * (K1 + 1) / (frequency + K1)


def _idf(holding: int, turns: int) -> float:
    return log(1 + (turns - holding + 0.5) / (holding + 0.5))


def _best(scores: Floats, limit: int) -> Positions:
    """Positions of the highest scores above 0, best first; of equal ones the earlier first."""
    positive = np.flatnonzero(scores)
    if 0 < limit < len(positive):
        least = np.partition(scores[positive], -limit)[-limit]
        positive = positive[scores[positive] >= least]
    return positive[np.argsort(-scores[positive], kind="stable")][:limit]
