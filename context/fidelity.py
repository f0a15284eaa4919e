"""How much of what must not be lost a summary keeps, told without a model."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from context.compression import Source
from context.wording import negations, sentences, words

BAR = 0.1
"""Below it a summary is not good enough."""


@dataclass(frozen=True, slots=True)
class Kept:
    """How many of something a summary keeps."""

    kept: int
    of: int


@dataclass(frozen=True, slots=True)
class Fidelity:
    """What a summary keeps of its source."""

    score: float
    """From 0 to 1; 1 where there was nothing to lose."""
    entities: Kept
    numbers: Kept
    negations: Kept


def fidelity(source: Source, summary: str) -> Fidelity:
    """Scores a summary by the names, numbers and negations that it keeps of its source."""
    texts = [source.summary, *(text for _, text in source.passages)]
    names, figures, refusals = _told(texts)
    kept_names, kept_figures, kept_refusals = _told([summary])
    entities = Kept(len(names.keys() & kept_names.keys()), len(names))
    numbers = Kept(len(figures.keys() & kept_figures.keys()), len(figures))
    negated = Kept(min(refusals, kept_refusals), refusals)
    parts = [part.kept / part.of for part in (entities, numbers, negated) if part.of]
    return Fidelity(sum(parts) / len(parts) if parts else 1.0, entities, numbers, negated)


def _told(texts: Iterable[str]) -> tuple[Counter[str], Counter[str], int]:
    names: Counter[str] = Counter()
    figures: Counter[str] = Counter()
    refusals = 0
    for text in texts:
        for sentence in sentences(text):
            found = words(sentence)
            figures.update(word for word in found if word[0].isdigit())
            names.update(word for word in found[1:] if word[0].isupper())
            refusals += negations(sentence)
    return names, figures, refusals
