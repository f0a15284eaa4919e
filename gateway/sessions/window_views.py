"""Responses with windows of sessions."""

import asyncio
from dataclasses import asdict, replace

from purser.context.conversation.renderings import render_text
from purser.context.postgres.sessions.windows import SessionWindow, SessionWindows, WindowRequest
from purser.context.tokens import count_text
from purser.context.windows import Window
from purser.context.windows.explain import Places
from purser.gateway.sessions.views import DroppedView, WindowView


async def text_window(
    windows: SessionWindows, tenant: str, session_id: str, request: WindowRequest, thread: str
) -> WindowView:
    """A window whose plain text fits the budget: its markup takes other tokens than that of messages."""
    room, tokens = request.budget, request.budget + 1
    while tokens > request.budget:
        shown = await windows.window(tenant, session_id, replace(request, budget=room), thread=thread)
        text = await asyncio.to_thread(_text, shown, request)
        tokens = count_text(text, request.model).tokens
        room -= max(1, tokens - request.budget)
    return window_view(shown).model_copy(update={"text": text, "tokens": tokens})


def _text(shown: SessionWindow, request: WindowRequest) -> str:
    window = shown.window
    placed = zip(window.messages, window.indexes, strict=True)
    return render_text(
        [message for message, place in placed if place is not None],
        summary=shown.summary,
        summarised=len(_covered(window)),
        most_tokens=2 * request.budget,
        model=request.model,
    )


def window_view(shown: SessionWindow) -> WindowView:
    """The response of `GET /window`."""
    window = shown.window
    return WindowView(
        messages=[message.to_dict() for message in window.messages],
        seqs=shown.shown,
        indexes=list(window.indexes),
        tokens=window.tokens,
        dropped=[DroppedView(index=place, seq=shown.seqs[place], reason=reason) for place, reason in window.dropped],
        summarised=[list(span) for span in window.summarised],
        summary_version=window.version,
        strategy=window.strategy,
        reason=window.reason,
        stats=asdict(window.stats),
    )


def places_of(shown: SessionWindow) -> Places:
    """The place of each message in the window."""
    window = shown.window
    return Places(
        verbatim=frozenset(seq for seq in shown.shown if seq is not None),
        clipped=frozenset(shown.seqs[one.index] for one in window.stats.clipped),
        summarised=frozenset(shown.seqs[place] for place in _covered(window)),
        dropped={shown.seqs[place]: reason for place, reason in window.dropped},
        version=window.version,
    )


def _covered(window: Window) -> list[int]:
    return [place for first, last in window.summarised for place in range(first, last + 1)]
