"""Reads conversations by reference: the messages that a window may show, and sums over the others."""

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import repeat

import asyncpg

from purser.budget.postgres.connections.pools import Connection
from purser.budget.postgres.connections.queries import load
from purser.context.compression.summaries import Summary
from purser.context.conversation.conversations import Conversation, Figures, MessageRef, SummaryRef
from purser.context.conversation.messages import SYSTEM_ROLES
from purser.context.postgres.conversation.running_figures import RunningFigures
from purser.context.tokens.tokenizers import Tokenizer
from purser.context.windows.excerpts import LONG, Within, gap_begin, gap_end

_SQL = load("purser.context.postgres.conversation", "references.sql")
_USUAL_TOKENS = 200
"""Mean tokens of messages, by which their number in a window is estimated until the mean is known."""
_MARGIN = 1.2
"""Factor by which more messages are examined than would take the tokens of a window, if all were of mean size."""
_MORE = 4
"""Factor by which more messages are examined if these are too few."""
_EVERYTHING = None, 0, 0, None
"""Bounds of an excerpt that omits nothing: tokens, primers, newest messages, and messages to examine."""


@dataclass(frozen=True, slots=True)
class Source:
    """The thread to read."""

    tenant: str
    session_id: str
    thread: str
    upto: int
    """The last message to include."""
    tokenizer: Tokenizer

    @property
    def place(self) -> tuple[str, str, str]:
        """Tenant, session and thread."""
        return self.tenant, self.session_id, self.thread


@dataclass(frozen=True, slots=True)
class References:
    """Messages of a thread by reference."""

    rows: Sequence[asyncpg.Record]
    """In sequence; counts for the tokenizer may be missing. Those that the latest summary passed over and the newest
    user message are `passed_over`: no summary covers them, even in its range."""
    hole: tuple[int, int] | None = None
    """First and last message of the range of which only required messages are included: covered and omitted ones."""
    omitted: tuple[int, int] | None = None
    """The part of the range after the summary, which no window has room for."""


@dataclass(frozen=True, slots=True)
class Placed:
    """What a window can show of a thread, with positions in the thread, from 0, instead of sequence numbers."""

    conversation: Conversation
    seqs: Mapping[int, int]
    """Sequence number of each included message, by position."""
    summary: SummaryRef | None = None
    """The summary, with sequence numbers."""
    omitted: tuple[int, int] | None = None
    """First and last sequence number of the omitted range."""
    unread: Figures = field(default_factory=Figures)
    """Sums over all messages that are not included."""


async def read_references(
    own: Connection,
    running: RunningFigures,
    source: Source,
    summary: Summary | None,
    within: Within | None,
    *,
    whole: bool = False,
) -> References:
    """Reads all messages that the summary does not cover, without those that no window has room for; all if `whole`."""
    if within and not whole and (found := await _excerpt(own, running, source, summary, within)):
        return found
    if summary and not whole:
        first, last = _covered(summary)
        rows = await _rows(own, source, _EVERYTHING, summary)
        if not any(_is_marked_call(row, last) for row in rows):
            return References(rows, (first, last))
    # Nothing is omitted, or a required message belongs to a group in the omitted range: read the whole thread.
    counted = source.tokenizer.key, source.upto
    return References(await own.fetch(_SQL["whole"], *source.place, *counted, _passed(summary)))


async def _excerpt(
    own: Connection,
    running: RunningFigures,
    source: Source,
    summary: Summary | None,
    within: Within,
) -> References | None:
    """What a window can show, judged by tokens alone; `None` if a group reaches into what it cannot show."""
    first, last = _covered(summary)
    mean = running.mean_tokens(*source.place, source.tokenizer) or _USUAL_TOKENS
    newest = max(2 * within.newest, int(_MARGIN * within.tokens / mean))
    while True:
        bounds = within.tokens, within.primers, within.newest, newest
        rows = await _rows(own, source, bounds, summary)
        if rows and rows[0]["tail"] is not None:
            break
        if sum(row["seq"] > last for row in rows) < newest:
            is_whole = summary is None or not any(_is_marked_call(row, last) for row in rows)
            return References(rows, (first, last) if summary else None) if is_whole else None
        newest *= _MORE
    head, end = rows[0]["head"], rows[0]["tail"]
    if head >= end:
        return None
    opening = next((row["seq"] for row in rows if row["role"] == "user"), 0)
    split = bisect_right(rows, end, key=_seq)
    if any(row["tool_call_id"] is not None for row in rows[split:]):
        end = gap_end(message_refs(rows[split:], repeat(0)), end)
    older = message_refs(rows[: bisect_right(rows, head, key=_seq)], repeat(0))
    begin = gap_begin(older, head + 1, opening=opening, covered=last, primers=within.primers)
    split = bisect_right(rows, end, key=_seq)
    # With fewer newer messages, the length class of the thread is not known.
    if begin is None or len(rows) - split < LONG:
        return None
    if any(_is_marked_call(row, end) for row in rows[:split]):
        return None
    required = [
        row
        for row in rows[:split]
        if row["seq"] < begin or row["seq"] == opening or row["passed_over"] or _is_fixed(row)
    ]
    return References([*required, *rows[split:]], (first if summary else begin, end), (begin, end))


async def omitted_figures(own: Connection, running: RunningFigures, source: Source, found: References) -> Figures:
    """Sums over all messages of the omitted range."""
    if found.omitted is None:
        return Figures()
    begun, last = found.omitted[0] - 1, found.omitted[1]
    upto = await running.upto(own, *source.place, source.tokenizer, [begun, last])
    return upto[last] - upto[begun]


@dataclass(frozen=True, slots=True)
class Positions:
    """Where the included messages of a thread are in it."""

    places: Mapping[int, int]
    """Position of each by sequence number."""
    upto: Mapping[int, Figures] = field(default_factory=dict)
    """Sums over all messages up to the end of the hole, to the summary's last one and to the one before the omitted
    range, if there is a hole."""


async def positions(
    own: Connection, running: RunningFigures, source: Source, found: References, summary: Summary | None
) -> Positions:
    """The positions of the included messages."""
    seqs = [row["seq"] for row in found.rows]
    if found.hole is None:
        return Positions({seq: at for at, seq in enumerate(seqs)})
    first, last = found.hole
    begin, end = bisect_left(seqs, first), bisect_right(seqs, last)
    ends = [last, *([summary.last_seq] if summary else []), *([found.omitted[0] - 1] if found.omitted else [])]
    upto = await running.upto(own, *source.place, source.tokenizer, [*seqs[begin:end], *ends])
    places = {seq: at for at, seq in enumerate(seqs[:begin])}
    places |= {seq: upto[seq].messages - 1 for seq in seqs[begin:end]}
    places |= {seq: at for at, seq in enumerate(seqs[end:], start=upto[last].messages)}
    return Positions(places, upto)


def placed(
    thread: str,
    found: References,
    counts: Mapping[int, int],
    at: Positions,
    summary: SummaryRef | None = None,
) -> Placed:
    """The messages of a thread by position.

    Args:
        thread: the thread.
        found: the included messages.
        counts: their tokens by sequence number.
        at: their positions.
        summary: the summary that covers the others, if there is one.
    """
    seqs, (first, last) = list(at.places), found.hole or (0, 0)
    refs = message_refs(found.rows, map(counts.__getitem__, seqs), at.places.values())
    omitted, figures, unread = None, Figures(), Figures()
    if found.hole:
        unread = at.upto[last] - Figures.of(refs[: bisect_right(seqs, last)])
    if found.omitted:
        before = at.upto[found.omitted[0] - 1]
        omitted = (before.messages, at.upto[last].messages - 1)
        within = refs[bisect_left(seqs, found.omitted[0]) : bisect_right(seqs, last)]
        figures = at.upto[last] - before - Figures.of(within)
    covered = None
    if summary is not None:
        end = at.upto[summary.last_seq].messages if found.hole else bisect_right(seqs, summary.last_seq)
        covered = replace(summary, first_seq=bisect_left(seqs, first or summary.first_seq), last_seq=end - 1)
    by_position = Conversation(thread, refs, covered, omitted=omitted, omitted_figures=figures)
    return Placed(by_position, {place: seq for seq, place in at.places.items()}, summary, found.omitted, unread)


def message_refs(
    rows: Sequence[asyncpg.Record],
    tokens: Iterable[int],
    places: Collection[int] | None = None,
) -> tuple[MessageRef, ...]:
    """The references of rows with these tokens, by position if `places` are given."""
    if not rows:
        return ()
    # By column: there are hundreds of messages.
    seqs, roles, _, call_ids, answered, characters, pinned, passed_over, *_ = zip(*rows, strict=True)
    numbers, linked = seqs if places is None else places, (map(tuple, call_ids), answered)
    return tuple(map(MessageRef, numbers, roles, tokens, *linked, pinned, passed_over, characters))


async def _rows(
    own: Connection, source: Source, bounds: tuple[int | None, ...], summary: Summary | None
) -> list[asyncpg.Record]:
    tokenizer = source.tokenizer
    counted, covered = (tokenizer.key, source.upto, tokenizer.vocabulary), _covered(summary)
    return await own.fetch(_SQL["excerpt"], *source.place, *counted, *bounds, *covered, _passed(summary))


def _covered(summary: Summary | None) -> tuple[int, int]:
    """The range of a summary."""
    return (summary.first_seq, summary.last_seq) if summary else (1, 0)


def _passed(summary: Summary | None) -> tuple[int, ...]:
    """The messages that a summary passed over."""
    return summary.passed if summary else ()


def _seq(row: asyncpg.Record) -> int:
    return int(row["seq"])


def _is_fixed(row: asyncpg.Record) -> bool:
    return row["pinned"] or row["role"] in SYSTEM_ROLES


def _is_marked_call(row: asyncpg.Record, watermark: int) -> bool:
    if row["seq"] > watermark:
        return False
    return (row["pinned"] or row["passed_over"]) and bool(row["call_ids"] or row["tool_call_id"])
