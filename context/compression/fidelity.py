"""How much of what must not be lost a summary keeps, told without a model."""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from purser.context.compression.requests import SummarySource
from purser.context.conversation.wording import names, negations, numbers, words

BAR = 0.1
"""Below it a summary is not good enough: summaries of single chat sessions score 0.11 and more (median 0.62), texts
that say nothing 0, and summaries of other conversations 0.08."""
_MOST = 30
"""Of each kind, what is mentioned most often: no summary keeps every figure of a table."""
_NEGATION = 0.2
"""What a negation counts beside a name: it can be told in other words."""
_LEAST = 3
"""With less to lose nothing can be told."""
_TITLE = re.compile(r"《[^》]{1,40}》|「[^」]{1,40}」|[\u30a1-\u30fa\u30fc]{3,}")
"""Names in scripts without capital letters."""


@dataclass(frozen=True, slots=True)
class Retained:
    """How many of something a summary keeps."""

    retained: int
    of: int


@dataclass(frozen=True, slots=True)
class Fidelity:
    """What a summary keeps of its source."""

    score: float
    """From 0 to 1; 1 where there was nothing to lose."""
    entities: Retained
    """Names."""
    numbers: Retained
    negations: Retained
    """How often it says no."""

    @property
    def enough(self) -> bool:
        """Whether the summary is good enough."""
        return self.score >= BAR


def fidelity(source: SummarySource, summary: str) -> Fidelity:
    """Scores a summary by the names, numbers and negations that it keeps of what its source mentions most often."""
    before, after = _mentions([source.summary, *(text for _, text in source.passages)]), _mentions([summary])
    entities = _retained(before.names, after.names)
    figures = _retained(before.numbers, after.numbers)
    refusals = Retained(min(before.negations, after.negations, _MOST), min(before.negations, _MOST))
    retained = entities.retained + figures.retained + _NEGATION * refusals.retained
    of = entities.of + figures.of + _NEGATION * refusals.of
    return Fidelity(retained / of if of >= _LEAST else 1.0, entities, figures, refusals)


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
