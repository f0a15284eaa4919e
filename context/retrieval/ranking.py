"""Lexical ranking of turns for a question.

BM25 in which a term also counts, with decreasing weight, for the turns around its own: people answer without repeating
the question, and name a topic once. The weights depend on the kind of conversation; they lie on wide plateaus, and were
cross-validated over English and Chinese conversations (`purser bench memory`).
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property, reduce
from itertools import chain
from math import log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from purser.context.conversation.kinds import Composition, Kind
from purser.context.retrieval.dates import dates_in, is_day, past_in
from purser.context.retrieval.postings import ASKS, POSTING, USER, spoken_by
from purser.context.retrieval.words import long_words, question_terms

K1 = 1.2
"""BM25 saturation: how quickly repetitions of a term stop to matter."""
SPEAKER = 0.25
"""Relative bonus of a turn whose speaker the question names."""
DAY = 8.0
"""Weight of a day that the question names, relative to a term: mostly, what was said on that day is asked for."""
PERIOD = 2.0
"""Weight of a month or year that the question names: what happened in it is often told later. Also of times
relative to now, such as "yesterday": the newest message of a chat, a question too, tells what happened then."""
REACH = 8
"""Maximum distance of a turn for which a term counts."""
LONG = 300
"""Mean size in bytes from which turns of people are statements that hardly depend on each other."""
_SPARSE = 16
"""Terms in fewer turns than one in so many are spread one by one."""

_PADDING = 4
"""Flag of empty positions."""

Floats = NDArray[np.float32]
Positions = NDArray[np.int64]


@dataclass(frozen=True)
class Weights:
    """How turns are weighed in one kind of conversation."""

    length: float
    """BM25's B: how much more a term counts in a short turn. Turns of a chat vary less than documents."""
    before: float
    """Weight of a term in the turn right before, which indicates what a turn is about."""
    after: float
    """Weight of a term in the turn right after."""
    decay: float
    """Factor of the weight per turn of distance."""
    reach: int
    """Maximum distance in turns, a power of two."""
    answer: float = 0.0
    """Additional weight, relative to `before`, if the turn right before asks."""
    question: float = 0.0
    """Relative malus of a turn that asks: it rarely states an answer."""
    asks: int = ASKS | USER
    """Flags of a turn that asks. An assistant ends answers with offers, which are questions too."""
    assistant: float = 1.0
    """Factor of turns of assistants. Those of users always count 1, so that sessions of all kinds compare."""

    @classmethod
    def of(cls, composition: Composition, mean_size: float) -> "Weights":
        """The weights for a conversation, given the mean size of its turns in bytes."""
        if composition.kind is Kind.PEOPLE:
            return STATEMENTS if mean_size >= LONG else CHAT
        return ASSISTANT if composition.kind is Kind.ASSISTANT else TOOLS

    @cached_property
    def kernel(self) -> Floats:
        """Weight by distance, from the farthest turn after to the farthest before."""
        distances = np.arange(-self.reach, self.reach + 1)
        weights = np.where(distances > 0, self.before, self.after) * self.decay ** (np.abs(distances) - 1.0)
        weights[self.reach] = 1.0
        return weights.astype(np.float32)

    @cached_property
    def factors(self) -> Floats:
        """Factor of a turn by its flags; 0 for empty positions."""
        factors = np.array([self.assistant, 1, self.assistant, 1, 0], np.float32)
        factors[self.asking] *= 1 - self.question
        return factors

    @cached_property
    def asking(self) -> NDArray[np.bool_]:
        """Whether a turn asks, by its flags."""
        found: NDArray[np.bool_] = np.arange(_PADDING + 1) & self.asks == self.asks
        return found


CHAT = Weights(length=0.4, before=0.5, after=0.3, decay=0.8, reach=REACH, answer=0.8, question=0.2, asks=ASKS)
"""Short turns of people: what one says is often only understood from the turns around it."""
STATEMENTS = Weights(length=0.75, before=0.3, after=0.2, decay=0.6, reach=2)
"""Long turns of people."""
TOOLS = Weights(length=0.75, before=0.5, after=0.3, decay=0.6, reach=2, answer=0.8, question=0.2)
"""Agents with tools."""
ASSISTANT = Weights(length=0.75, before=0.5, after=0.3, decay=0.6, reach=2, answer=0.8, question=0.2, assistant=0.5)
"""Long answers repeat the words of a question many times, and the facts are in what the user said."""


@dataclass(frozen=True)
class Question:
    """A question as the index sees it."""

    terms: Sequence[str]
    dates: Sequence[str]
    """Terms of the dates that it names."""
    past: Sequence[tuple[str, ...]] = ()
    """Those of days, months and years that it names relative to now: a turn of one has all its terms."""
    parts: Sequence[str] = ()
    """Those of `terms` that also count where they are part of a longer one, if they do not occur by themselves."""

    @classmethod
    def of(cls, text: str, now: datetime | None = None) -> "Question":
        """Reads a question that is asked now."""
        terms = question_terms(text)
        return cls(terms, dates_in(text), past_in(text, now), sorted(long_words(text).intersection(terms)))

    @property
    def wanted(self) -> list[str]:
        """The terms whose postings `rank` needs."""
        return sorted({*self.terms, *map(spoken_by, self.terms), *self.dates, *chain(*self.past)})


@dataclass(frozen=True, slots=True)
class Thread:
    """One indexed thread."""

    flags: bytes
    """One byte a turn."""
    terms: int
    size: int
    """Size of the texts of its turns in bytes."""
    user_size: int
    """Size of those of users."""
    tool_messages: int = 0

    @property
    def turns(self) -> int:
        """Number of its turns."""
        return len(self.flags)

    @property
    def weights(self) -> Weights:
        """The weights for its kind of conversation."""
        messages = self.turns + self.tool_messages
        composition = Composition(self.user_size, self.size - self.user_size, messages, self.tool_messages)
        return Weights.of(composition, self.size / max(1, self.turns))


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


def rank(
    question: Question,
    threads: Sequence[Thread],
    posted: Iterable[Posted],
    *,
    without: Collection[tuple[int, int]] = (),
    limit: int,
) -> list[Hit]:
    """Ranks the turns that match a question, best first.

    Args:
        question: what is asked.
        threads: all searched threads; terms have no effect across threads.
        posted: postings of the terms in `question.wanted`, in any order.
        without: thread and place of turns to leave out; their words still count for their neighbours.
        limit: maximum number of turns.
    """
    by_thread: defaultdict[int, list[Posted]] = defaultdict(list)
    holding: Counter[str] = Counter()
    for one in posted:
        by_thread[one.thread].append(one)
        holding[one.term] += len(one.postings) // POSTING.itemsize
    turns = sum(thread.turns for thread in threads)
    rarity = {term: log(1 + (turns - often + 0.5) / (often + 0.5)) for term, often in holding.items()}
    parts: defaultdict[Weights, list[int]] = defaultdict(list)
    for number in by_thread:
        parts[threads[number].weights].append(number)
    hits = []
    for weights, numbers in parts.items():
        layout = _Layout([threads[number] for number in numbers], weights)
        place = {number: at for at, number in enumerate(numbers)}
        scores = layout.scores(question, rarity, [(place[n], one) for n in numbers for one in by_thread[n]])
        scores[[layout.starts[place[number]] + at for number, at in without if number in place]] = 0
        hits += [Hit(numbers[at], found, score) for at, found, score in layout.best(scores, limit)]
    return sorted(hits, key=lambda hit: (-hit.score, hit.thread, hit.place))[:limit]


class _Layout:
    """Threads of one kind in one array, padded with as many empty positions as a term can reach."""

    def __init__(self, threads: Sequence[Thread], weights: Weights) -> None:
        sizes = np.array([thread.turns for thread in threads], np.int64)
        self.weights = weights
        self.starts: Positions = np.cumsum(sizes + REACH) - sizes
        self.turns = int(sizes.sum())
        self.mean_terms = sum(thread.terms for thread in threads) / self.turns
        self.size = self.turns + REACH * (len(threads) + 1)
        self._flags = np.full(self.size, _PADDING, np.uint8)
        for start, thread in zip(self.starts, threads, strict=True):
            self._flags[start : start + thread.turns] = np.frombuffer(thread.flags, np.uint8)

    def scores(self, question: Question, rarity: Mapping[str, float], posted: Sequence[tuple[int, Posted]]) -> Floats:
        """The score of each position."""
        found = self._by_term(posted)
        weights, scores = self.weights, np.zeros(self.size, np.float32)
        for term, times in Counter(question.terms).items():
            if term in found:
                positions, postings = found[term]
                share = postings["count"] / (1 - weights.length + weights.length * postings["length"] / self.mean_terms)
                frequency = self._spread(positions, share)
                # Saturated: frequency * (K1 + 1) / (frequency + K1).
                np.divide(frequency, frequency + K1, out=frequency)
                frequency *= times * rarity[term] * (K1 + 1)
                scores += frequency
        spoken = [found[mark][0] for term in set(question.terms) if (mark := spoken_by(term)) in found]
        factors = weights.factors[self._flags]
        if spoken:
            named = np.zeros(self.size, np.bool_)
            named[np.concatenate(spoken)] = True
            factors += factors * named * SPEAKER
        scores *= factors
        # After the factors, which say how much words count: the turns of a day are ordered by their words.
        for term in question.dates:
            if term in found:
                scores[found[term][0]] += (DAY if is_day(term) else PERIOD) * rarity[term]
        for marks in question.past:
            if all(mark in found for mark in marks):
                turns = reduce(np.intersect1d, (found[mark][0] for mark in marks))
                scores[turns] += PERIOD * max(rarity[mark] for mark in marks)
        return scores

    def best(self, scores: Floats, limit: int) -> Iterable[tuple[int, int, float]]:
        """Thread, place and score of the highest scores above 0, in any order."""
        positive = np.flatnonzero(scores)
        if 0 < limit < len(positive):
            least = np.partition(scores[positive], -limit)[-limit]
            positive = positive[scores[positive] >= least]
        of = np.searchsorted(self.starts, positive, side="right") - 1
        for one, at in zip(positive.tolist(), of.tolist(), strict=True):
            yield at, one - int(self.starts[at]), float(scores[one])

    def _by_term(self, posted: Sequence[tuple[int, Posted]]) -> dict[str, tuple[Positions, NDArray[Any]]]:
        """Positions and postings of each term."""
        parts: defaultdict[str, list[tuple[int, bytes]]] = defaultdict(list)
        for at, one in posted:
            parts[one.term].append((at, one.postings))
        found = {}
        for term, some in parts.items():
            postings = np.frombuffer(b"".join(packed for _, packed in some), POSTING)
            held = [len(packed) // POSTING.itemsize for _, packed in some]
            found[term] = postings["place"] + np.repeat(self.starts[[at for at, _ in some]], held), postings
        return found

    def _spread(self, positions: Positions, share: NDArray[np.float64]) -> Floats:
        """Weighted frequency of a term at each position, including its neighbours."""
        weights = self.weights
        if len(positions) * _SPARSE < self.size:
            around = (positions[:, None] + np.arange(-weights.reach, weights.reach + 1)).ravel()
            counted = np.bincount(around, (share[:, None] * weights.kernel).ravel(), minlength=self.size)
            frequency = counted.astype(np.float32)
        else:
            # The same, faster where most positions are reached.
            frequency = np.zeros(self.size, np.float32)
            frequency[positions] = share
            before, after = self._decayed(frequency), self._decayed(frequency[::-1])[::-1]
            frequency[1:] += np.float32(weights.before) * before[:-1]
            frequency[:-1] += np.float32(weights.after) * after[1:]
        if weights.answer:
            asks = weights.asking[self._flags[positions]]
            frequency[positions[asks] + 1] += (share[asks] * weights.before * weights.answer).astype(np.float32)
        return frequency

    def _decayed(self, shares: Floats) -> Floats:
        """For each position the sum of the shares up to `reach` positions before the next, each with its decay.

        Doubling the distance in each step takes log2(reach) of them: `reach` is a power of two.
        """
        summed, step, factor = shares.copy(), 1, np.float32(self.weights.decay)
        while step < self.weights.reach:
            summed[step:] += factor * summed[:-step]
            step, factor = 2 * step, factor * factor
        return summed
