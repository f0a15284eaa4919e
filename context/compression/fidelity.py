"""Fidelity of a summary: the share of names, numbers and negations of its source that it retains, without a model.

Where a source has hardly any names and numbers, as small talk has, the words that the summary shares with it count.
"""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from purser.context.compression.requests import SummarySource
from purser.context.conversation.wording import names, negations, numbers, words
from purser.context.retrieval.words import terms

BAR = 0.1
"""Minimum score of an acceptable summary: summaries of single chat sessions score 0.11 and more (median 0.62), texts
without content 0, and summaries of other conversations 0.08."""
_MOST = 30
"""Most frequent terms of each kind that count: no summary retains every figure of a table."""
_NEGATION = 0.2
"""Weight of a negation relative to a name: a negation can be paraphrased."""
_LEAST = 3
"""Names and numbers below which the words of a source count instead."""
_SHARED = 60
"""Different words that a summary shares with its source for the full score: extracts of 60 tokens share 9 and more
(median 17 in English and 27 in Chinese), refusals in the language of the conversation at most 5."""
_TITLE = re.compile(r"《[^》]{1,40}》|「[^」]{1,40}」|[\u30a1-\u30fa\u30fc]{3,}")
"""Names in scripts without capital letters."""


@dataclass(frozen=True, slots=True)
class Retained:
    """How many terms of one kind a summary retains."""

    count: int
    total: int


@dataclass(frozen=True, slots=True)
class Fidelity:
    """What a summary retains of its source."""

    score: float
    """From 0 to 1."""
    entities: Retained
    """Names of people, places and things."""
    numbers: Retained
    negations: Retained
    """Occurrences of negations."""

    @property
    def enough(self) -> bool:
        """Whether the score reaches `BAR`."""
        return self.score >= BAR


def fidelity(source: SummarySource, summary: str) -> Fidelity:
    """Scores a summary by how many of its source's most frequent names, numbers and negations it retains.

    Where there are too few of these, the different words that both share decide.
    """
    texts = [source.summary, *(passage.text for passage in source.passages)]
    before, after = _mentions(texts), _mentions([summary])
    entities = _retained(before.names, after.names)
    figures = _retained(before.numbers, after.numbers)
    refusals = Retained(min(before.negations, after.negations, _MOST), min(before.negations, _MOST))
    if entities.total + figures.total < _LEAST:
        return Fidelity(_shared(texts, summary), entities, figures, refusals)
    retained = entities.count + figures.count + _NEGATION * refusals.count
    total = entities.total + figures.total + _NEGATION * refusals.total
    return Fidelity(retained / total, entities, figures, refusals)


def _shared(texts: Iterable[str], summary: str) -> float:
    """Scores a summary by the number of different words that it shares with its source."""
    before = set[str]().union(*map(_content, texts))
    return min(1.0, len(before & _content(summary)) / min(_SHARED, len(before))) if before else 1.0


def _content(text: str) -> set[str]:
    """Words, and pairs of characters where a script has no spaces."""
    return {term for term in terms(text) if len(term) > 1}


@dataclass(frozen=True, slots=True)
class _Mentions:
    names: Counter[str]
    numbers: Counter[str]
    negations: int


def _mentions(texts: Iterable[str]) -> _Mentions:
    found = list(texts)
    return _Mentions(
        Counter(name for text in found for name in (*names(text), *_TITLE.findall(text))),
        Counter(number for text in found for number in numbers(words(text))),
        sum(map(negations, found)),
    )


def _retained(before: Counter[str], after: Counter[str]) -> Retained:
    most = [term for term, _ in before.most_common(_MOST)]
    return Retained(sum(term in after for term in most), len(most))
