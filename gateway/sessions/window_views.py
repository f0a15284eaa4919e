"""Responses with windows of sessions."""

from dataclasses import asdict, replace

from purser.context.conversation.renderings import render_text
from purser.context.postgres.conversation.counts import in_background
from purser.context.postgres.sessions.windows import SessionWindow, SessionWindows, WindowRequest
from purser.context.tokens import count_text
from purser.context.windows.explain import Places
from purser.wire.windows import DroppedView, OmittedView, WindowView

MOST_LISTED = 10_000
"""Messages that were not read and are listed one by one; more of them are a megabyte of answer."""


async def text_window(
    windows: SessionWindows, tenant: str, session_id: str, request: WindowRequest, thread: str
) -> WindowView:
    """A window whose plain text fits the budget: its markup takes other tokens than that of messages."""
    room, tokens = request.budget, request.budget + 1
    while tokens > request.budget:
        shown = await windows.window(tenant, session_id, replace(request, budget=room), thread=thread)
        text, tokens = await in_background(_text, shown, request)
        room -= max(1, tokens - request.budget)
    return window_view(shown).model_copy(update={"text": text, "tokens": tokens})


def _text(shown: SessionWindow, request: WindowRequest) -> tuple[str, int]:
    """The window as plain text, and its tokens."""
    window = shown.window
    placed = zip(window.messages, window.indexes, strict=True)
    text = render_text(
        [message for message, place in placed if place is not None],
        summary=shown.summary,
        summarised=sum(last - first + 1 for first, last in window.summarised),
        most_tokens=2 * request.budget,
        model=request.model,
    )
    return text, count_text(text, request.model).tokens


def window_view(shown: SessionWindow) -> WindowView:
    """The response of `GET /window`."""
    window = shown.window
    return WindowView(
        messages=[message.to_dict() for message in window.messages],
        seqs=shown.shown,
        indexes=list(window.indexes),
        tokens=window.tokens,
        omitted=[OmittedView(indexes=(first, last), reason=reason) for first, last, reason in window.omitted],
        dropped=_dropped(shown),
        summarised=[list(span) for span in window.summarised],
        summary_version=window.version,
        strategy=window.strategy,
        reason=window.reason,
        stats=asdict(window.stats),
    )


def _dropped(shown: SessionWindow) -> list[DroppedView]:
    """The dropped messages in sequence, with those that were not read unless these are too many to list."""
    read = [DroppedView(index=place, seq=shown.seqs[place], reason=reason) for place, reason in shown.window.dropped]
    if sum(last - first + 1 for first, last, _ in shown.window.omitted) > MOST_LISTED:
        return read
    unread = [
        DroppedView(index=place, seq=None, reason=reason)
        for first, last, reason in shown.window.omitted
        for place in range(first, last + 1)
    ]
    return sorted([*read, *unread], key=lambda one: one.index)


def places_of(shown: SessionWindow, seq: int) -> Places:
    """The places of the messages that the window reads, and of the message `seq` in any case."""
    window = shown.window
    covered = (place for first, last in window.summarised for place in range(first, last + 1))
    verbatim = frozenset(one for one in shown.shown if one is not None)
    dropped = {shown.seqs[place]: reason for place, reason in window.dropped}
    if shown.omitted_seqs and shown.omitted_seqs[0] <= seq <= shown.omitted_seqs[1]:
        dropped.setdefault(seq, window.omitted[-1][2])
    return Places(
        verbatim=verbatim,
        clipped=frozenset(shown.seqs[one.index] for one in window.stats.clipped),
        cleared=frozenset(shown.seqs[one.index] for one in window.stats.cleared),
        summarised=frozenset(shown.seqs[place] for place in covered if place in shown.seqs),
        dropped=dropped,
        version=window.version,
    )
