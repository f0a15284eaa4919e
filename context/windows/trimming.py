"""Remedies for messages that are too large for a window: old tool results are cleared, then long messages clipped.

Only the window changes, never what is stored. A cleared or clipped message keeps its role and the ids of its calls, and
its mark names its number and size. Bounds are steps of the room, so that decisions remain the same from one turn to the
next: what is cleared once stays cleared while the room is the same.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import product

from purser.context.compression.requests import CountText
from purser.context.conversation.conversations import Group, MessageRef
from purser.context.conversation.messages import Message
from purser.context.windows.clipping import clip_message
from purser.context.windows.engine import Cutter

MARK_TOKENS = 48
"""Most tokens of a message of which only its mark is shown, without its calls."""
_CALL_TOKENS = (64, 16)
"""Tokens that each of its calls takes in addition: with arguments of which as many remain as may, or with few."""
WORTH_CLEARING = 200
"""Tokens from which clearing a tool result is worth it."""
_PARTS = 8
"""Number of steps into which a room is divided: results are cleared, and messages clipped, by whole steps."""
DOCUMENTS = 0
"""Number of the message with a task's documents; stored messages are numbered from 1."""
_RESULT = Message("tool", "")
_SHORT_ARGUMENTS = 200
"""Characters of a tool call's arguments that remain even if its message is cleared."""


class Remedy(StrEnum):
    """What a window shows of a message that is too large for it."""

    CLEARED = "cleared"
    """Only a mark with its number and size."""
    CLIPPED = "clipped"
    """Its beginning and end."""


@dataclass(frozen=True, slots=True)
class Trim:
    """A message of which a window shows a part."""

    seq: int
    remedy: Remedy
    original: int
    """Tokens of the whole message."""
    most: int
    """Upper bound of the tokens that are shown."""
    tokens: int
    """Tokens that are shown; `most` until they are counted."""

    @property
    def tokens_left_out(self) -> int:
        """Tokens of the message that are not shown."""
        return self.original - self.tokens


Trims = Mapping[int, Trim]
"""Trimmed messages by sequence number."""


def fit_required(
    cutters: Sequence[Cutter], room: int, others: Sequence[MessageRef] = (), *, question: MessageRef | None = None
) -> Trims | None:
    """Chooses remedies by which the required groups of all conversations fit.

    Args:
        cutters: of each conversation; the last one contains the newest step.
        room: tokens for all required groups and `others` together.
        others: further messages that are required.
        question: the newest user message if it is among them; it is not trimmed either.

    Returns:
        The remedies, or `None` if pins and system messages, which are never trimmed, leave no room.
    """
    excess = sum(cutter.least for cutter in cutters) + sum(ref.tokens for ref in others) - room
    if excess <= 0:
        return {}
    trims: dict[int, Trim] = {}
    for ref in _old_results(cutters, [cutter.required for cutter in cutters]):
        if excess <= 0:
            return trims
        trims[ref.seq] = _cleared(ref)
        excess -= ref.tokens - MARK_TOKENS
    if excess <= 0:
        return trims
    groups = (cutter.conversation.groups[index] for cutter in cutters for index in cutter.required)
    free = (ref for group in groups if not _is_fixed(group) for ref in group.refs)
    whole = [ref for ref in (*free, *others) if ref.seq not in trims and ref != question]
    bounds = list(_bounds(room - (question.tokens if question else 0)))
    for of_call, bound in product(_CALL_TOKENS, bounds):
        tried = (_clipped(ref, max(bound, MARK_TOKENS + of_call * len(ref.call_ids))) for ref in whole)
        clipped = {trim.seq: trim for trim in tried if trim.tokens_left_out > 0}
        if sum(trim.tokens_left_out for trim in clipped.values()) >= excess:
            return trims | clipped
    return None


def clear_old_results(cutters: Sequence[Cutter], room: int, question: MessageRef | None = None) -> Trims:
    """Chooses old tool results to clear, oldest first, so that less of the conversations is left out.

    Args:
        cutters: of each conversation; the last one contains the newest step.
        room: tokens for what the strategy may show of all conversations.
        question: the newest user message if it is among them.
    """
    included = [sorted({*cutter.required, *_included(cutter)}) for cutter in cutters]
    excess = sum(cutter.tokens(indexes) for cutter, indexes in zip(cutters, included, strict=True)) - room
    if excess <= 0:
        return {}
    step = max(1, (room - (question.tokens if question else 0)) // _PARTS)
    wanted = -(-excess // step) * step
    trims: dict[int, Trim] = {}
    for ref in _old_results(cutters, included):
        if wanted <= 0:
            break
        trims[ref.seq] = _cleared(ref)
        wanted -= ref.tokens - MARK_TOKENS
    return trims


def trimmed(cutter: Cutter, trims: Trims) -> Cutter:
    """A cutter of the same conversation with the tokens that a window shows of its messages."""
    if not trims:
        return cutter
    conversation = cutter.conversation
    refs = (ref._replace(tokens=trims[ref.seq].tokens) if ref.seq in trims else ref for ref in conversation.messages)
    return replace(cutter, conversation=replace(conversation, messages=tuple(refs)))


def show_all(
    trims: Iterable[Trim], texts: Mapping[int, Message], count: CountText, numbers: Mapping[int, int] | None = None
) -> dict[int, Message]:
    """What a window shows of trimmed messages, by sequence number.

    Args:
        trims: the remedies.
        texts: by sequence number, at least the messages to clip.
        count: counts the tokens of a text.
        numbers: numbers of the messages in marks, if `seq` is a position.
    """
    return {
        trim.seq: show(texts.get(trim.seq, _RESULT), trim, count, numbers[trim.seq] if numbers else trim.seq)
        for trim in trims
    }


def show(message: Message, trim: Trim, count: CountText, number: int) -> Message:
    """What a window shows of a trimmed message, whose number its mark names."""
    name = f"message {number}" if number != DOCUMENTS else "the documents"
    if trim.remedy is Remedy.CLIPPED:
        clipped = clip_message(message, trim.original, trim.most, count, f" of {name}")
        if clipped is not None:
            return clipped
    mark = f"[{trim.original} tokens left out of {name}]"
    calls = tuple(_without_arguments(call, mark) for call in message.tool_calls)
    if calls and calls == message.tool_calls and count(message.text) <= count(mark):
        return message  # A mark would only make it longer.
    return replace(message, content=mark, tool_calls=calls)


def _included(cutter: Cutter) -> range:
    conversation = cutter.conversation
    return range(max(cutter.oldest, conversation.included_from), len(conversation.groups))


def _old_results(cutters: Sequence[Cutter], included: Sequence[Iterable[int]]) -> Iterator[MessageRef]:
    """Tool results worth clearing, oldest first, without those of the newest step."""
    for cutter, indexes in zip(cutters, included, strict=True):
        groups = cutter.conversation.groups
        newest = len(groups) - 1 if cutter is cutters[-1] else len(groups)
        for index in sorted(indexes):
            old = [ref for ref in groups[index].refs if ref.role == "tool" and ref.tokens >= WORTH_CLEARING]
            if old and index < newest and not _is_fixed(groups[index]):
                yield from old


def _is_fixed(group: Group) -> bool:
    """Whether a pin or a system message keeps it verbatim; the first user message may be clipped."""
    return any(ref.fixed for ref in group.refs)


def _cleared(ref: MessageRef) -> Trim:
    return Trim(ref.seq, Remedy.CLEARED, ref.tokens, MARK_TOKENS, MARK_TOKENS)


def _clipped(ref: MessageRef, most: int) -> Trim:
    return Trim(ref.seq, Remedy.CLIPPED, ref.tokens, most, most)


def _bounds(room: int) -> Iterator[int]:
    """Upper bounds of a clipped message, from large to small."""
    bounds = [room * part // _PARTS for part in range(_PARTS - 1, 0, -1)]
    while bounds[-1] > MARK_TOKENS:
        bounds.append(bounds[-1] // 2)
    yield from (bound for bound in bounds if bound > MARK_TOKENS)
    yield MARK_TOKENS


def _without_arguments(call: Mapping[str, object], mark: str) -> Mapping[str, object]:
    function = call["function"]
    assert isinstance(function, Mapping)
    if len(function["arguments"]) <= _SHORT_ARGUMENTS:
        return call
    return {**call, "function": {**function, "arguments": json.dumps({"left_out": mark})}}
