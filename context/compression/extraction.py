"""A summary without a model: messages of the conversation, in their own words."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from purser.context.compression.requests import CountText, SummarySource
from purser.context.conversation.wording import (
    names,
    negations,
    numbers,
    past_events,
    questions,
    sentences,
    stems,
    times,
    words,
)

WHOLE = 200
"""Tokens up to which a message is picked as a whole; of a longer one, sentences are."""
_WHOLE_SHARE = 8
"""It also takes at most an eighth of the room."""
_FAIR_SHARE = 4
"""One message takes at most a quarter of the room before all others had theirs."""
_WORDS_PER_NUMBER = 4
"""A table says no more than a sentence, so no more numbers count."""


@dataclass(frozen=True, slots=True)
class _Piece:
    """What is picked or not."""

    line: str
    """Who said it, and what."""
    text: str
    passage: int | None = None
    """The message that it is of; `None`: a line of the last version."""
    answers: bool = False
    """Whether it follows a question of somebody else."""


def extract(source: SummarySource, most_tokens: int, count: CountText) -> str:
    """The messages that say most for their length, in the order in which they were said and in their own words.

    Short messages stay whole; of long ones, sentences are picked. While other messages have something to say, one alone
    gets a quarter of the room: no message can write the summary by itself. Deterministic; empty where nothing fits.

    Args:
        source: what to pick from; lines of the last version compete with new messages.
        most_tokens: what the text may take.
        count: by the counter of the model that will read it.
    """
    pieces = {piece.line: (piece, tokens) for piece, tokens in _pieces(source, most_tokens, count)}
    found = list(pieces.values())
    worths = _worths([piece for piece, _ in found], {speaker for speaker, _ in source.passages})
    order = sorted(range(len(found)), key=lambda index: (-worths[index] / found[index][1], index))
    picked = _picked(found, order, most_tokens)
    while picked and count(text := "\n".join(found[index][0].line for index in sorted(picked))) > most_tokens:
        picked.pop()
    return text if picked else ""


def _picked(found: Sequence[tuple[_Piece, int]], order: Sequence[int], most_tokens: int) -> list[int]:
    """What fits, in order: first a fair share of each message, then more of any."""
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


def _pieces(source: SummarySource, most_tokens: int, count: CountText) -> Iterator[tuple[_Piece, int]]:
    """What may be picked, with its tokens."""
    whole = min(WHOLE, most_tokens // _WHOLE_SHARE)
    for line in filter(None, source.summary.splitlines()):
        yield _Piece(line, line.partition(": ")[2] or line), count(line + "\n")
    asked_by = ""
    for passage, (speaker, said) in enumerate(source.passages):
        text = " ".join(said.split())
        piece = _Piece(_line(speaker, text), text, passage, answers=asked_by not in ("", speaker))
        if text and (tokens := count(piece.line + "\n")) <= whole:
            yield piece, tokens
        else:
            for sentence in sentences(said):
                line = _line(speaker, sentence)
                yield _Piece(line, sentence, passage), count(line + "\n")
        asked_by = speaker if questions(text) else ""


def _line(speaker: str, text: str) -> str:
    return f"{speaker}: {text}" if speaker else text


def _worths(pieces: Sequence[_Piece], speakers: set[str]) -> list[float]:
    """What each piece says.

    Numbers, names and rare words are the entity-dense score of the field; what happened, when, and answers are what
    people ask for later. The weights were found on five conversations and hold on each when found on the other four.
    """
    found = [words(piece.text) for piece in pieces]
    distinct = [stems(piece.text, own) for piece, own in zip(pieces, found, strict=True)]
    spread = Counter(stem for own in distinct for stem in own)
    rarity = {stem: math.log(len(pieces) / often) for stem, often in spread.items()}
    return [
        2 * min(len(numbers(own)), 1 + len(own) // _WORDS_PER_NUMBER)
        + 2 * (len(names(piece.text, speakers)) + past_events(piece.text) + piece.answers)
        + 4 * times(piece.text)
        + 0.5 * negations(piece.text)
        + 0.2 * sum(rarity[stem] for stem in sorted(rare))
        - questions(piece.text)
        for piece, own, rare in zip(pieces, found, distinct, strict=True)
    ]
