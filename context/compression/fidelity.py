"""Fidelity of a summary: the share of names, numbers and negations of its source that it retains, without a model."""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from purser.context.compression.requests import SummarySource
from purser.context.conversation.wording import names, negations, numbers, words

BAR = 0.1
"""Minimum score of an acceptable summary: summaries of single chat sessions score 0.11 and more (median 0.62), texts
without content 0, and summaries of other conversations 0.08."""
_MOST = 30
"""Most frequent terms of each kind that count: no summary retains every figure of a table."""
_NEGATION = 0.2
"""Weight of a negation relative to a name: a negation can be paraphrased."""
_LEAST = 3
"""Weighted terms below which a source is too small to score."""
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
    """From 0 to 1; 1 where the source is too small to score."""
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
    """Scores a summary by how many of its source's most frequent names, numbers and negations it retains."""
    before, after = _mentions([source.summary, *(passage.text for passage in source.passages)]), _mentions([summary])
    entities = _retained(before.names, after.names)
    figures = _retained(before.numbers, after.numbers)
    refusals = Retained(min(before.negations, after.negations, _MOST), min(before.negations, _MOST))
    retained = entities.count + figures.count + _NEGATION * refusals.count
    total = entities.total + figures.total + _NEGATION * refusals.total
    return Fidelity(retained / total if total >= _LEAST else 1.0, entities, figures, refusals)


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
