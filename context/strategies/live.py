"""The rules of a live window: which strategy cuts it, what of the session it keeps, and what is compressed."""

from collections.abc import Sequence, Set
from dataclasses import replace

from context.choice import choose
from context.conversations import Conversation
from context.ranges import choose_range
from context.settings import ContextSettings
from context.strategies.filling import Room, filled
from context.strategies.names import StrategyName
from context.strategies.settings import StrategySettings
from context.strategies.strategy import Strategy, strategy_of

CHARACTERS_PER_TOKEN = 4
"""What `auto` takes a token for: planning sees no text."""


def live_strategy(settings: ContextSettings, session: Conversation, own: Conversation, *, crowded: bool) -> Strategy:
    """The rule of a live window, where all that no summary covers yet counts as recent."""
    name = settings.strategy
    if name is StrategyName.AUTO:
        refs = [ref for one in (session, own) for group in one.groups for ref in group.refs]
        choice = choose(
            messages=len(refs),
            characters=CHARACTERS_PER_TOKEN * sum(ref.tokens for ref in refs),
            preference=settings.preference,
            summaries=max(one.summary.version if one.summary else 0 for one in (session, own)),
            can_summarise=settings.compresses,
            tool_messages=sum(bool(ref.call_ids) or ref.tool_call_id is not None for ref in refs),
        )
        # What fits needs no choice.
        name = StrategyName(choice.strategy) if crowded else StrategyName.SUMMARY
    figures = StrategySettings(primers_count=settings.primers)
    return replace(strategy_of(name, figures, session.count), recents_count=None)


def session_kept(session: Conversation, must: Set[int], strategy: Strategy, room: Room) -> set[int]:
    """Groups of the session that are shown. A conversation that is cut begins with a user message."""
    kept = filled(session, must, strategy.runs(session, newer_rounds=1), Room(room.left))
    if session.summary is not None or len(kept) == len(session.groups):
        return kept
    return filled(session, must, strategy.runs(session, session.first_request, newer_rounds=1), room)


def to_compress(
    settings: ContextSettings, conversations: Sequence[Conversation], budget: int, *, crowded: bool
) -> str | None:
    """The conversation whose compression frees most, of those that are too large for the trigger or too long."""
    if not settings.compresses:
        return None
    if untold := [one.thread for one in conversations if one.untold]:
        return untold[0]
    found = [
        (span.freed, one.thread)
        for one in conversations
        if (crowded or one.count > settings.history_window_size) and (span := choose_range(one, settings, budget))
    ]
    return max(found)[1] if found else None
