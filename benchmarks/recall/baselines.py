"""Baselines of memory search: plain BM25, BM25 with half the score of each neighbour, and TF-IDF with cosine.

They get the product's terms, with the speakers and the dates of messages, so that only the ranking is compared.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from math import log

import numpy as np
from numpy.typing import NDArray

from purser.context.retrieval.dates import date_terms
from purser.context.retrieval.postings import Turn
from purser.context.retrieval.ranking import Question
from purser.context.retrieval.words import terms

Scores = NDArray[np.float64]
_K1, _B = 1.2, 0.75


class Baselines:
    """Ranks the turns of several threads for a question."""

    def __init__(self, threads: Sequence[Sequence[Turn]]) -> None:
        self._starts = np.cumsum([0, *(len(turns) for turns in threads)])
        held: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
        lengths: list[int] = []
        for turn in (turn for turns in threads for turn in turns):
            said = terms(turn.name or "") + terms(turn.text) + date_terms(turn.day)
            for term, count in Counter(said).items():
                held[term].append((len(lengths), count))
            lengths.append(len(said))
        self._held: Mapping[str, tuple[NDArray[np.int64], Scores]] = {
            term: (np.array([at for at, _ in some]), np.array([count for _, count in some], np.float64))
            for term, some in held.items()
        }
        self._lengths = np.maximum(np.array(lengths, np.float64), 1)
        squares = np.zeros(len(lengths))
        for at, counts in self._held.values():
            squares[at] += (counts * self._smooth(len(at))) ** 2
        self._norms = np.sqrt(np.maximum(squares, 1e-9))

    def ranked(self, question: str, limit: int) -> dict[str, list[int]]:
        """Numbers of the best turns, counted over all threads, best first, by the name of the baseline."""
        asked = Question.of(question)
        query = Counter([*asked.terms, *asked.dates])
        plain = self._bm25(query)
        scores = {"BM25": plain, "BM25 + neighbours": self._neighbours(plain), "TF-IDF": self._tf_idf(query)}
        return {name: _best(one, limit) for name, one in scores.items()}

    def _bm25(self, query: Mapping[str, int]) -> Scores:
        scores, turns = np.zeros(len(self._lengths)), len(self._lengths)
        norms = _K1 * (1 - _B + _B * self._lengths / self._lengths.mean())
        for term, times in query.items():
            if term in self._held:
                at, counts = self._held[term]
                rarity = log(1 + (turns - len(at) + 0.5) / (len(at) + 0.5))
                scores[at] += times * rarity * counts * (_K1 + 1) / (counts + norms[at])
        return scores

    def _neighbours(self, plain: Scores) -> Scores:
        scores = plain.copy()
        for start, end in zip(self._starts, self._starts[1:], strict=False):
            thread = plain[start:end]
            scores[start + 1 : end] += thread[:-1] / 2
            scores[start : end - 1] += thread[1:] / 2
        return scores

    def _tf_idf(self, query: Mapping[str, int]) -> Scores:
        scores = np.zeros(len(self._lengths))
        for term, times in query.items():
            if term in self._held:
                at, counts = self._held[term]
                scores[at] += times * counts * self._smooth(len(at)) ** 2
        return np.asarray(scores / self._norms, np.float64)

    def _smooth(self, holding: int) -> float:
        return log((1 + len(self._lengths)) / (1 + holding)) + 1


def _best(scores: Scores, limit: int) -> list[int]:
    order = np.argsort(-scores, kind="stable")[:limit]
    return [int(one) for one in order if scores[one] > 0]
