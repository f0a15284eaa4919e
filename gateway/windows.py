"""Windows of sessions as the API answers them."""

import asyncio
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from context.explain import Places
from context.postgres.session_windows import Asked, SessionWindow
from context.renderings import render_text
from context.tokens import count_text
from gateway.services import SessionServices
from gateway.session_views import DroppedView, WindowView


async def text_window(use: SessionServices, tenant: str, session_id: str, asked: Asked, thread: str) -> WindowView:
    """A window whose plain text fits the budget: its marks take other tokens than those around messages."""
    room, tokens = asked.budget, asked.budget + 1
    while tokens > asked.budget:
        shown = await use.windows.window(tenant, session_id, replace(asked, budget=room), thread=thread)
        text = await asyncio.to_thread(_text, shown, asked)
        tokens = count_text(text, asked.model).tokens
        room -= max(1, tokens - asked.budget)
    return window_view(shown).model_copy(update={"text": text, "tokens": tokens})


def _text(shown: SessionWindow, asked: Asked) -> str:
    history = [message for message, seq in zip(shown.messages, shown.seqs, strict=True) if seq is not None]
    return render_text(
        history,
        summary=shown.summary,
        summarised=len(shown.summarised),
        most_tokens=2 * asked.budget,
        model=asked.model,
    )


def window_view(shown: SessionWindow) -> WindowView:
    """The answer of `GET /window`."""
    built = shown.built
    return WindowView(
        messages=[message.to_dict() for message in shown.messages],
        seqs=list(shown.seqs),
        indexes=[None if seq is None else shown.places[seq] for seq in shown.seqs],
        tokens=built.tokens,
        dropped=[DroppedView(index=shown.places[seq], seq=seq, reason=reason) for seq, reason in shown.dropped],
        summarised=shown.spans,
        summary_version=shown.version,
        strategy=built.strategy,
        reason=built.reason,
        stats=_stats(shown),
    )


def _stats(shown: SessionWindow) -> Mapping[str, Any]:
    """Of the window, told for the whole conversation: what the stored summary covers is removed as well."""
    stats = asdict(shown.built.stats)
    clipped = [
        {"index": shown.places[seq], "tokens_left_out": one["tokens_left_out"]}
        for seq, one in zip(shown.clipped, stats["clipped"], strict=True)
    ]
    removed = len(shown.summarised) + len(shown.dropped)
    return stats | {
        "optimization_applied": bool(removed or clipped),
        "messages_removed": removed,
        "tokens_saved": shown.whole_tokens - shown.built.tokens,
        "clipped": clipped,
    }


def places_of(shown: SessionWindow) -> Places:
    """What the window does with each message."""
    return Places(
        verbatim=frozenset(seq for seq in shown.seqs if seq is not None),
        clipped=frozenset(shown.clipped),
        summarised=frozenset(shown.summarised),
        dropped=dict(shown.dropped),
        version=shown.version,
    )
