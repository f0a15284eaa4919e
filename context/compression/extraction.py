"""Extractive summaries: messages and sentences picked from the conversation without a model."""

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
"""Tokens up to which a message is picked as a whole; longer messages are picked sentence by sentence."""
_WHOLE_SHARE = 8
"""A message picked as a whole takes at most an eighth of the room."""
_FAIR_SHARE = 4
"""One message takes at most a quarter of the room in the first pass over all messages."""
_WORDS_PER_NUMBER = 4
"""Numbers count up to one per so many words, so that a table scores no higher than a sentence."""


@dataclass(frozen=True, slots=True)
class _Piece:
    """A candidate line of the summary."""

    line: str
    """Speaker and text."""
    text: str
    passage: int | None = None
    """Index of its message; `None` for a line of the last version."""
    answers: bool = False
    """Whether it follows a question of another speaker."""


def extract(source: SummarySource, most_tokens: int, count: CountText) -> str:
    """Picks the messages with the most information per token, verbatim and in their original order.

    Short messages are picked whole, long ones sentence by sentence. While other messages have candidates left, a single
    message gets at most a quarter of the room, so that no message can write the summary alone. Deterministic.

    Args:
        source: the text to pick from; lines of the last version compete with new messages.
        most_tokens: upper bound of the result.
        count: counts tokens with the tokenizer of the model that will read the summary.

    Returns:
        The summary; empty where nothing fits.
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


def _pieces(source: SummarySource, most_tokens: int, count: CountText) -> Iterator[tuple[_Piece, int]]:
    """Yields each candidate with its tokens."""
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
    """Scores the information in each piece.

    Numbers, names and rare words form the usual entity-dense score; past events, times and answers are what users ask
    for later. The weights were fitted on five conversations and cross-validated by leaving each one out.
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
