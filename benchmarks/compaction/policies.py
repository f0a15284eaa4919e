"""Compaction policies that the benchmark compares."""

import math
import random
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from itertools import accumulate

from purser.benchmarks.compaction.conversations import MODEL, LabelledConversation, count
from purser.context.compression.extracts.extraction import extract
from purser.context.compression.ranges import SUMMARY_SHARE
from purser.context.compression.requests import SummarySource
from purser.context.compression.summaries import summary_message
from purser.context.conversation.wording import names, numbers, stems, words
from purser.context.facts import MOST_TOKENS, extract_facts, omitted_facts, render_facts, sheet_tokens
from purser.context.tokens import count_message

PRIMERS, RECENTS = 3, 20
SEED = 7


@dataclass(frozen=True)
class Remains:
    """What a policy leaves of a conversation."""

    retained: Collection[int]
    """Indexes of the messages that remain word for word."""
    text: str
    """The whole remaining text."""
    tokens: int


Policy = Callable[[LabelledConversation, int], Remains]
"""Cuts a conversation down to the given number of tokens, or as close as it can get."""


def everything(conversation: LabelledConversation, most_tokens: int) -> Remains:
    """Cuts nothing."""
    return _verbatim(conversation, range(len(conversation.messages)))


def last_messages(conversation: LabelledConversation, most_tokens: int) -> Remains:
    """Retains the last 20 messages."""
    return _verbatim(conversation, range(max(0, len(conversation.messages) - RECENTS), len(conversation.messages)))


def first_and_last(conversation: LabelledConversation, most_tokens: int) -> Remains:
    """Retains the first 3 and the last 20 messages."""
    return _verbatim(conversation, _ends(conversation))


def newest(conversation: LabelledConversation, most_tokens: int) -> Remains:
    """Retains the newest messages that fit."""
    retained: list[int] = []
    for index in reversed(range(len(conversation.messages))):
        most_tokens -= conversation.tokens[index]
        if most_tokens < 0:
            break
        retained.append(index)
    return _verbatim(conversation, retained)


def at_random(conversation: LabelledConversation, most_tokens: int) -> Remains:
    """Retains both ends and randomly chosen messages."""
    draw = random.Random(SEED)
    return _filled(conversation, most_tokens, [draw.random() for _ in conversation.messages])


def rarest(conversation: LabelledConversation, most_tokens: int) -> Remains:
    """Retains both ends and the messages whose words are rarest per token."""
    return _filled(
        conversation,
        most_tokens,
        [sum(each) / own for each, own in zip(rarities(conversation), conversation.tokens, strict=True)],
    )


def entity_dense(conversation: LabelledConversation, most_tokens: int) -> Remains:
    """Retains both ends and the messages with most numbers, names and 0.2 of word rarity per token."""
    return _filled(conversation, most_tokens, density(conversation))


def extracted(conversation: LabelledConversation, most_tokens: int) -> Remains:
    """Retains both ends and an extract of the rest; the header of the extract is counted."""
    return _summarized(conversation, most_tokens, with_facts=False)


def extracted_with_facts(conversation: LabelledConversation, most_tokens: int) -> Remains:
    """Retains both ends, an extract of the rest and the facts that the extract omits; all of it is counted."""
    return _summarized(conversation, most_tokens, with_facts=True)


def _summarized(conversation: LabelledConversation, most_tokens: int, *, with_facts: bool) -> Remains:
    ends = _ends(conversation, most_tokens)
    middle = [index for index in range(len(conversation.messages)) if index not in ends]
    around = sum(conversation.tokens[index] for index in ends)
    room = most_tokens - around - _shown(middle, "") if middle else 0
    if room <= 0:
        return _verbatim(conversation, ends)
    facts_room = sheet_tokens(room, with_extract=True) if with_facts else 0
    text = extract(SummarySource.of("", [conversation.messages[index] for index in middle]), room - facts_room, count)
    if with_facts:
        facts = omitted_facts(extract_facts([conversation.stored[index] for index in middle]), text)
        left = min(MOST_TOKENS, room - count(text) - 1)
        text = f"{text}\n{render_facts(facts, left, count).text}"
    lines = text.splitlines()
    retained = {*ends, *(index for index in middle if is_shown(conversation.texts[index], lines))}
    shown = "\n".join([*(conversation.texts[index] for index in sorted(ends)), text])
    return Remains(retained, shown, around + _shown(middle, text))


def is_shown(text: str, lines: Sequence[str]) -> bool:
    """Whether one of the lines is a message word for word, after its speaker."""
    said = " ".join(text.split())
    return bool(said) and any(line == said or line.endswith(f": {said}") for line in lines)


def _shown(middle: Sequence[int], text: str) -> int:
    message = summary_message(middle[0] + 1, middle[-1] + 1, text)
    return count_message(message.to_openai(), MODEL).tokens


def _ends(conversation: LabelledConversation, most_tokens: int | None = None) -> set[int]:
    """The first 3 messages and the last 20, or as many of these as leave a summary its share."""
    size = len(conversation.messages)
    ends = [*range(min(PRIMERS, size)), *reversed(range(max(PRIMERS, size - RECENTS), size))]
    if most_tokens is None:
        return set(ends)
    sums = accumulate(conversation.tokens[index] for index in ends)
    most = (1 - SUMMARY_SHARE) * most_tokens
    return {
        index for place, (index, used) in enumerate(zip(ends, sums, strict=True)) if place <= PRIMERS or used <= most
    }


def _verbatim(conversation: LabelledConversation, retained: Collection[int]) -> Remains:
    return Remains(
        retained,
        "\n".join(conversation.texts[index] for index in retained),
        sum(conversation.tokens[index] for index in retained),
    )


def _filled(conversation: LabelledConversation, most_tokens: int, worths: Sequence[float]) -> Remains:
    retained = _ends(conversation, most_tokens)
    room = most_tokens - sum(conversation.tokens[index] for index in retained)
    for index in sorted(set(range(len(conversation.messages))) - retained, key=lambda index: (-worths[index], index)):
        if conversation.tokens[index] <= room:
            retained.add(index)
            room -= conversation.tokens[index]
    return _verbatim(conversation, sorted(retained))


def density(conversation: LabelledConversation) -> list[float]:
    """Numbers, names and 0.2 of word rarity per token, by message."""
    return [
        (len(numbers(words(text))) + len(names(text)) + 0.2 * sum(each)) / own
        for text, each, own in zip(conversation.texts, rarities(conversation), conversation.tokens, strict=True)
    ]


def rarities(conversation: LabelledConversation) -> list[list[float]]:
    """Rarity (inverse message frequency) of each distinct word, by message."""
    distinct = [stems(text, words(text)) for text in conversation.texts]
    spread = Counter(stem for own in distinct for stem in own)
    return [[math.log(len(distinct) / spread[stem]) for stem in sorted(own)] for own in distinct]
