"""Ways to make a conversation smaller."""

import math
import random
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from purser.benchmarks.compaction.talks import MODEL, Talk, count
from purser.context.compression.extraction import extract
from purser.context.compression.requests import Source
from purser.context.compression.summaries import summary_message
from purser.context.conversation.wording import names, numbers, stems, words
from purser.context.facts import extract_facts, render_facts, sheet_tokens, untold
from purser.context.tokens import count_message

PRIMERS, RECENTS = 3, 20
SEED = 7


@dataclass(frozen=True)
class Remains:
    """What is left of a conversation."""

    kept: Collection[int]
    """Messages that are there word for word, by index."""
    text: str
    """All that is there."""
    tokens: int


Policy = Callable[[Talk, int], Remains]
"""Cuts a conversation down to so many tokens, or as near as it can."""


def everything(talk: Talk, most_tokens: int) -> Remains:
    """Nothing is cut."""
    return _verbatim(talk, range(len(talk.messages)))


def last_messages(talk: Talk, most_tokens: int) -> Remains:
    """The last 20 messages."""
    return _verbatim(talk, range(max(0, len(talk.messages) - RECENTS), len(talk.messages)))


def first_and_last(talk: Talk, most_tokens: int) -> Remains:
    """The first 3 and the last 20 messages."""
    return _verbatim(talk, _ends(talk))


def newest(talk: Talk, most_tokens: int) -> Remains:
    """The newest messages that fit."""
    kept: list[int] = []
    for index in reversed(range(len(talk.messages))):
        most_tokens -= talk.tokens[index]
        if most_tokens < 0:
            break
        kept.append(index)
    return _verbatim(talk, kept)


def at_random(talk: Talk, most_tokens: int) -> Remains:
    """The ends, and messages by chance."""
    draw = random.Random(SEED)
    return _filled(talk, most_tokens, [draw.random() for _ in talk.messages])


def rarest(talk: Talk, most_tokens: int) -> Remains:
    """The ends, and messages by the rarity of their words, per token."""
    return _filled(talk, most_tokens, [sum(each) / own for each, own in zip(_rarities(talk), talk.tokens, strict=True)])


def entity_dense(talk: Talk, most_tokens: int) -> Remains:
    """The ends, and messages by numbers, names and 0.2 of the rarity of their words, per token."""
    worths = [
        (len(numbers(words(text))) + len(names(text)) + 0.2 * sum(each)) / own
        for text, each, own in zip(talk.texts, _rarities(talk), talk.tokens, strict=True)
    ]
    return _filled(talk, most_tokens, worths)


def extracted(talk: Talk, most_tokens: int) -> Remains:
    """The ends, and our extract of the rest, its header counted."""
    return _summarized(talk, most_tokens, with_facts=False)


def extracted_with_facts(talk: Talk, most_tokens: int) -> Remains:
    """The ends, our extract of the rest and the sheet of facts that it does not tell, all counted."""
    return _summarized(talk, most_tokens, with_facts=True)


def _summarized(talk: Talk, most_tokens: int, *, with_facts: bool) -> Remains:
    ends = _ends(talk)
    middle = [index for index in range(len(talk.messages)) if index not in ends]
    around = sum(talk.tokens[index] for index in ends)
    room = most_tokens - around - _shown(middle, "") if middle else 0
    if room <= 0:
        return _verbatim(talk, ends)
    facts_room = sheet_tokens(room) if with_facts else 0
    said = [(talk.messages[index].name or talk.messages[index].role, talk.texts[index]) for index in middle]
    text = extract(Source("", tuple(said)), room - facts_room, count)
    if with_facts:
        facts = untold(extract_facts([talk.stored[index] for index in middle]), text)
        text = f"{text}\n{render_facts(facts, facts_room - 1, count).text}"
    lines = {line.partition(": ")[2] for line in text.splitlines()}
    kept = {*ends, *(index for index in middle if " ".join(talk.texts[index].split()) in lines)}
    shown = "\n".join([*(talk.texts[index] for index in sorted(ends)), text])
    return Remains(kept, shown, around + _shown(middle, text))


def _shown(middle: Sequence[int], text: str) -> int:
    message = summary_message(middle[0] + 1, middle[-1] + 1, text)
    return count_message(message.to_openai(), MODEL).tokens


def _ends(talk: Talk) -> set[int]:
    size = len(talk.messages)
    return {*range(min(PRIMERS, size)), *range(max(0, size - RECENTS), size)}


def _verbatim(talk: Talk, kept: Collection[int]) -> Remains:
    return Remains(kept, "\n".join(talk.texts[index] for index in kept), sum(talk.tokens[index] for index in kept))


def _filled(talk: Talk, most_tokens: int, worths: Sequence[float]) -> Remains:
    kept = _ends(talk)
    room = most_tokens - sum(talk.tokens[index] for index in kept)
    for index in sorted(set(range(len(talk.messages))) - kept, key=lambda index: (-worths[index], index)):
        if talk.tokens[index] <= room:
            kept.add(index)
            room -= talk.tokens[index]
    return _verbatim(talk, sorted(kept))


def _rarities(talk: Talk) -> list[list[float]]:
    """Of the distinct words of each message, how rare they are."""
    distinct = [stems(text, words(text)) for text in talk.texts]
    spread = Counter(stem for own in distinct for stem in own)
    return [[math.log(len(distinct) / spread[stem]) for stem in sorted(own)] for own in distinct]
