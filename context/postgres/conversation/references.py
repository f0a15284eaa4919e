"""Reads conversations by reference: the messages that a window may show, and sums over the others."""

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import asyncpg

from purser.budget.postgres.connections.pools import Connection
from purser.budget.postgres.connections.queries import load
from purser.context.compression.summaries import Summary
from purser.context.conversation.conversations import Conversation, Figures, MessageRef
from purser.context.postgres.conversation.running_figures import RunningFigures
from purser.context.tokens.tokenizers import Tokenizer
from purser.context.windows.excerpts import Within, gap_of, included_seqs

_SQL = load("purser.context.postgres.conversation", "references.sql")
_USUAL_TOKENS = 200
"""Tokens of a message by which the number of messages is estimated that a window may show."""
_MORE = 4
"""Factor by which more messages are examined if these are too few."""


@dataclass(frozen=True, slots=True)
class Source:
    """The thread to read."""

    tenant: str
    session_id: str
    thread: str
    upto: int
    """The last message to include."""
    tokenizer: Tokenizer


@dataclass(frozen=True, slots=True)
class References:
    """Messages of a thread by reference."""

    rows: Sequence[asyncpg.Record]
    """In sequence; counts for the tokenizer may be missing."""
    hole: tuple[int, int] | None = None
    """First and last message of the range of which only required messages are included: covered and omitted ones."""
    omitted: tuple[int, int] | None = None
    """The part of the range after the summary, which no window has room for."""


@dataclass(frozen=True, slots=True)
class Placed:
    """What a window can show of a thread, with positions in the thread."""

    conversation: Conversation
    places: Mapping[int, int]
    """Position of each included message, from 0, by sequence number."""
    covered: tuple[int, int] | None = None
    """Positions of the first and the last message that the summary covers."""
    omitted: tuple[int, int] | None = None
    """Positions of the first and the last message of the omitted range."""
    unread: Figures = field(default_factory=Figures)
    """Sums over all messages that are not included."""


async def read_references(
    own: Connection, source: Source, summary: Summary | None, within: Within | None
) -> References:
    """Reads all messages that the summary does not cover, without those that no window has room for."""
    arguments = (source.tenant, source.session_id, source.thread, source.tokenizer.key, source.upto)
    first, last, passed = (summary.first_seq, summary.last_seq, summary.passed) if summary else (1, 0, ())
    if within and (gap := await _gap(own, source, arguments, last, within)):
        hole = first if summary else gap[0], gap[1]
        rows = await own.fetch(_SQL["uncovered_refs"], *arguments, *hole, passed)
        refs = [message_ref(row, 0, passed) for row in rows]
        gap = gap_of(refs, gap, covered=last, primers=within.primers)
        if gap and not any(_is_marked_call(row, gap[1], passed) for row in rows):
            seqs = included_seqs(refs, gap)
            hole = first if summary else gap[0], gap[1]
            return References([row for row in rows if row["seq"] in seqs], hole, gap)
    if summary:
        rows = await own.fetch(_SQL["uncovered_refs"], *arguments, first, last, passed)
        if not any(_is_marked_call(row, last, passed) for row in rows):
            return References(rows, (first, last))
    # Nothing is omitted, or a required message belongs to a group in the omitted range: read the whole thread.
    return References(await own.fetch(_SQL["refs"], *arguments))


async def place(
    own: Connection, running: RunningFigures, source: Source, found: Conversation, hole: tuple[int, int]
) -> Placed:
    """The positions of all messages of a conversation with a hole, and sums over those that it omits."""
    first, last = hole
    inside = [ref.seq for ref in found.messages if first <= ref.seq <= last]
    before = [ref.seq for ref in found.messages if ref.seq < first]
    after = [ref.seq for ref in found.messages if ref.seq > last]
    watermark = found.summary.last_seq if found.summary else 0
    begun = found.omitted[0] - 1 if found.omitted else last
    where = source.tenant, source.session_id, source.thread
    upto = await running.upto(own, *where, source.tokenizer, [*inside, watermark, begun, last])
    left_out = upto[last] - upto[begun] - Figures.of([ref for ref in found.messages if begun < ref.seq <= last])
    places = {seq: upto[seq].messages - 1 for seq in inside}
    places |= {seq: at for at, seq in enumerate(before)}
    places |= {seq: at for at, seq in enumerate(after, start=upto[last].messages)}
    covered = (len(before), upto[watermark].messages - 1) if found.summary else None
    omitted = (upto[begun].messages, upto[last].messages - 1) if found.omitted else None
    unread = upto[last] - Figures.of([ref for ref in found.messages if ref.seq <= last])
    return Placed(replace(found, omitted_figures=left_out), places, covered, omitted, unread)


def place_all(found: Conversation) -> Placed:
    """The positions of all messages of a conversation that includes every message."""
    seqs, summary = [ref.seq for ref in found.messages], found.summary
    covered = (bisect_left(seqs, summary.first_seq), bisect_right(seqs, summary.last_seq) - 1) if summary else None
    return Placed(found, {seq: at for at, seq in enumerate(seqs)}, covered)


def message_ref(row: asyncpg.Record, tokens: int, passed: Collection[int]) -> MessageRef:
    """The reference of one row."""
    passed_over = row["seq"] in passed
    return MessageRef(
        row["seq"],
        row["role"],
        tokens,
        tuple(row["call_ids"]),
        row["tool_call_id"],
        row["pinned"],
        passed_over,
        row["characters"],
    )


async def _gap(
    own: Connection, source: Source, arguments: tuple[object, ...], covered: int, within: Within
) -> tuple[int, int] | None:
    """First and last message after the summary that no window can show, judged by tokens alone."""
    newest = 2 * within.newest + within.tokens // _USUAL_TOKENS
    while True:
        [row] = await own.fetch(
            _SQL["excerpt"],
            *arguments,
            source.tokenizer.vocabulary,
            within.tokens,
            within.primers,
            within.newest,
            newest,
        )
        head, tail = covered or row["head"], row["tail"]
        if tail is not None:
            return (head + 1, tail) if tail > head else None
        if row["messages"] < newest or row["oldest"] <= covered:
            return None
        newest *= _MORE


def _is_marked_call(row: asyncpg.Record, watermark: int, passed: Collection[int]) -> bool:
    marked = row["pinned"] or row["seq"] in passed
    return row["seq"] <= watermark and marked and bool(row["call_ids"] or row["tool_call_id"])
