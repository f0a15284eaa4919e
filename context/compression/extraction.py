"""Extractive summaries: messages and sentences picked from the conversation without a model."""

import math
from collections import Counter
from collections.abc import Sequence

from purser.context.compression.requests import CountText, SummarySource
from purser.context.compression.units import Unit, units
from purser.context.conversation.wording import (
    names,
    negations,
    numbers,
    past_events,
    questions,
    stems,
    times,
    words,
)
from purser.context.facts.languages import languages_of
from purser.context.facts.statements import statements

_FAIR_SHARE = 4
"""One message takes at most a quarter of the room in the first pass over all messages."""
_LONGEST_STATEMENT = 600
"""Characters of a text above which preferences and decisions are not looked for."""
_WORDS_PER_NUMBER = 4
"""Numbers count up to one per so many words, so that a table scores no higher than a sentence."""


def extract(source: SummarySource, most_tokens: int, count: CountText) -> str:
    """Picks the units with the most information per token, verbatim and in their original order.

    Short messages are picked whole, long ones by part, tool calls as records with their outcome. While other messages
    have candidates left, the parts of one message get at most a quarter of the room, so that no message can write the
    summary alone. Deterministic.

    Args:
        source: the text to pick from; lines of the last version compete with new messages.
        most_tokens: upper bound of the result.
        count: counts tokens with the tokenizer of the model that will read the summary.

    Returns:
        The summary; empty where nothing fits.
    """
    candidates = units(source, most_tokens, count)
    found = list({unit.line: (unit, tokens) for unit, tokens in candidates}.values())
    worths = _worths([unit for unit, _ in found], {passage.speaker for passage in source.passages})
    order = sorted(range(len(found)), key=lambda index: (-worths[index] / found[index][1], index))
    picked = _picked(found, order, most_tokens)
    while picked and count(text := "\n".join(found[index][0].line for index in sorted(picked))) > most_tokens:
        picked.pop()
    return text if picked else ""


def _picked(found: Sequence[tuple[Unit, int]], order: Sequence[int], most_tokens: int) -> list[int]:
    """Indexes of the pieces that fit, in order: first a fair share of each message, then more of any."""
    picked: dict[int, None] = {}
    room, taken = most_tokens, Counter[int]()
    for most_each in (most_tokens // _FAIR_SHARE, most_tokens):
        for index in order:
            piece, tokens = found[index]
            passage = piece.passage
            fair = passage is None or not taken[passage] or taken[passage] + tokens <= most_each
            if index not in picked and tokens <= room and fair:
                picked[index] = None
                room -= tokens
                if passage is not None:
                    taken[passage] += tokens
    return list(picked)


def _worths(pieces: Sequence[Unit], speakers: set[str]) -> list[float]:
    """Scores the information in each unit.

    Numbers, names and rare words form the usual entity-dense score; past events, times and answers are what users ask
    for later. These weights were fitted on five conversations of people and cross-validated by leaving each one out.
    Preferences, refusals and decisions count as much as a name.
    """
    found = [words(piece.text) for piece in pieces]
    distinct = [stems(piece.text, own) for piece, own in zip(pieces, found, strict=True)]
    spread = Counter(stem for own in distinct for stem in own)
    rarity = {stem: math.log(len(pieces) / often) for stem, often in spread.items()}
    return [
        piece.weight
        * (
            2 * min(len(numbers(own)), 1 + len(own) // _WORDS_PER_NUMBER)
            + 2 * (len(names(piece.text, speakers)) + past_events(piece.text) + _stated(piece.text) + piece.answers)
            + 4 * times(piece.text)
            + 0.5 * negations(piece.text)
            + 0.2 * sum(rarity[stem] for stem in sorted(rare))
            - questions(piece.text)
        )
        for piece, own, rare in zip(pieces, found, distinct, strict=True)
    ]


def _stated(text: str) -> int:
    """Preferences, refusals and decisions."""
    return len(list(statements(text, languages_of(text)))) if len(text) <= _LONGEST_STATEMENT else 0
