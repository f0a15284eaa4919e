"""What decides in transcripts with tools: the ids, dates and amounts that later calls name.

Each transcript is cut after two thirds of its groups. Values with a digit that the arguments of later calls name, and
that only the covered part contains, must be in what a policy leaves. Nobody labels them: the rest of the transcript
says what was needed.
"""

import json
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

from purser.benchmarks.compaction.conversations import LabelledConversation, count, messages_of
from purser.benchmarks.compaction.policies import SEED, density, rarities
from purser.benchmarks.data import optional_rows
from purser.benchmarks.outcome import Table
from purser.context.compression.extracts.extraction import extract
from purser.context.compression.requests import SummarySource
from purser.context.conversation.messages import Message, group
from purser.context.tokens import PER_MESSAGE

OURS = "1 + 2 + our extract"
SHARES = (25, 40)
"""Percent of a history's tokens that a policy may retain."""
LEAST_TOKENS = 2_500
"""Tokens of a history below which nothing needs to be cut."""
_FIRST, _LAST = 1, 2
"""Messages at both ends that every policy retains."""
_VALUE = re.compile(r"(?=.*\d)[\w.-]{3,}")
_HEADER = 20
"""Tokens of the header of a summary."""


@dataclass(frozen=True)
class Point:
    """A history, and the values that the rest of its transcript needs."""

    history: LabelledConversation
    needed: frozenset[str]


def points(data: Path | None) -> list[Point]:
    """All transcripts that need a value of a long history."""
    transcripts = (
        [one for one in messages_of(row) if one.role != "system"] for row in optional_rows(data, "tau_airline")
    )
    return [point for messages in transcripts if messages and (point := _point(messages))]


def retained(found: Sequence[Point]) -> dict[str, dict[int, float]]:
    """Percent of the needed values that each policy leaves, by share of the tokens."""
    draw = random.Random(SEED)
    worths: Mapping[str, Callable[[LabelledConversation], Sequence[float]]] = {
        "newest that fit": lambda history: range(len(history.messages)),
        "1 + 2 + random": lambda history: [draw.random() for _ in history.messages],
        "1 + 2 + rare words": lambda history: [
            sum(each) / own for each, own in zip(rarities(history), history.tokens, strict=True)
        ],
        "1 + 2 + entity-dense": density,
    }
    return {
        name: {share: 100 * mean(_left(point, share, worth) for point in found) for share in SHARES}
        for name, worth in {**worths, OURS: None}.items()
    }


def table(found: Mapping[str, Mapping[int, float]]) -> Table:
    """Tabulates the shares."""
    columns = ["policy", *(f"values @ {share} %" for share in SHARES)]
    return Table(
        "Ids, dates and amounts that later calls need, tau_airline",
        columns,
        [[name, *by.values()] for name, by in found.items()],
    )


def _point(messages: Sequence[Message]) -> Point | None:
    groups = group(messages)
    cut = groups[len(groups) * 2 // 3].start
    history = LabelledConversation([_flat(one) for one in messages[:cut]], ())
    if sum(history.tokens) < LEAST_TOKENS:
        return None
    whole, ends = "\n".join(history.texts), "\n".join([*history.texts[:_FIRST], *history.texts[-_LAST:]])
    values = {value for one in messages[cut:] for call in one.tool_calls for value in _arguments(call)}
    needed = frozenset(value for value in values if value in whole and value not in ends)
    return Point(LabelledConversation(messages[:cut], ()), needed) if needed else None


def _flat(message: Message) -> Message:
    """A message whose text includes its calls."""
    calls = (f"{call['function']['name']} {call['function']['arguments']}" for call in message.tool_calls)
    return Message(message.role, "\n".join([message.text, *calls]))


def _arguments(call: Mapping[str, Any]) -> Iterator[str]:
    try:
        arguments = json.loads(call["function"]["arguments"])
    except ValueError:
        return
    yield from (value for value in _leaves(arguments) if _VALUE.fullmatch(value))


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _leaves(one)
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        yield str(value)


def _left(point: Point, share: int, worth: Callable[[LabelledConversation], Sequence[float]] | None) -> float:
    """Share of the needed values that remain."""
    flat = LabelledConversation([_flat(one) for one in point.history.messages], ())
    size = len(flat.messages)
    picked = {*range(_FIRST), *range(size - _LAST, size)}
    room = sum(flat.tokens) * share // 100 - sum(flat.tokens[index] for index in picked)
    summary = ""
    if worth is None:
        middle = [point.history.messages[index] for index in range(size) if index not in picked]
        summary = extract(SummarySource.of("", middle), max(0, room - _HEADER - PER_MESSAGE), count)
    else:
        worths = worth(flat)
        for index in sorted(set(range(size)) - picked, key=lambda index: (-worths[index], index)):
            if flat.tokens[index] <= room:
                picked.add(index)
                room -= flat.tokens[index]
    text = "\n".join([*(flat.texts[index] for index in sorted(picked)), summary])
    return mean(value in text for value in point.needed)
