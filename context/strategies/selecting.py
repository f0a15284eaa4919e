"""Which groups of a conversation a window holds verbatim, and how much room is left for a summary of all others."""

from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass, replace
from itertools import islice

from context.conversations import Conversation, total
from context.messages import Message
from context.strategies.filling import Room, filled, unmoved
from context.strategies.settings import StrategySettings
from context.strategies.strategy import Strategy


@dataclass(frozen=True, slots=True)
class Shown:
    """A summary as a window shows it."""

    text: str
    message: Message
    """With its header."""
    tokens: int
    """Of the message."""


LEAST_SUMMARY = 85
"""Tokens that a summary needs to say something: its header, and some 60 for what was said."""

Write = Callable[[Sequence[int], int], Shown | None]
"""Writes a summary of some groups, by index, that takes at most so many tokens; `None` if it cannot."""


@dataclass(frozen=True, slots=True)
class Selection:
    """What a window holds of a conversation."""

    kept: Set[int]
    """Groups that stay verbatim, by index."""
    summary: Shown | None = None
    """Covers all other groups; without one they are dropped."""


def always_kept(conversation: Conversation) -> set[int]:
    """Groups that every window holds: what never moves, open calls, the newest user message and the last step.

    What stands first of them has its request with it: a window that was cut begins with a user message.
    """
    groups = conversation.groups
    newest = (index for index in reversed(range(len(groups))) if any(ref.role == "user" for ref in groups[index].refs))
    open_calls = (index for index, group in enumerate(groups) if group.refs[0].call_ids and group.waits)
    kept = {*unmoved(conversation), *open_calls, *islice(newest, 1), *range(len(groups))[-1:]}
    first = min((index for index in kept if groups[index].talk), default=-1)
    return kept | {*[index for index in range(first + 1) if groups[index].is_request][-1:]}


def select(
    conversation: Conversation,
    must: Set[int],
    strategy: Strategy,
    settings: StrategySettings,
    limit: int,
    write: Write | None,
) -> Selection:
    """Chooses what a window that is cut holds.

    What always stays is in it even beyond the limit. A summary is written into the room that the kept groups leave; the
    next groups in the strategy's order that fit beside it are then taken as well, and the summary is written anew for
    the rest, until none fits.

    Args:
        conversation: by reference.
        must: what always stays, from `always_kept`.
        strategy: in which order groups are taken.
        settings: its figures.
        limit: tokens of kept groups and summary.
        write: `None`: nothing writes summaries.
    """
    write = write if strategy.summarises else None
    reserve = summary_reserve(conversation, must, settings, limit) if write else 0
    kept = _filled(conversation, strategy, must, must, limit - reserve)
    if not strategy.summarises:
        return Selection(kept)
    more = replace(strategy, recents_count=None, rounds=None) if settings.extends else strategy
    while True:
        others = [index for index in range(len(conversation.groups)) if index not in kept]
        summary = write(others, limit - _tokens(conversation, kept)) if write and others else None
        taken = _filled(conversation, more, must, kept, limit - (summary.tokens if summary else 0))
        if taken == kept:
            return Selection(kept, summary)
        kept = taken


def summary_reserve(conversation: Conversation, kept: Set[int], settings: StrategySettings, limit: int) -> int:
    """Tokens that a summary of all but `kept` is sure to get, as far as what always stays leaves them."""
    others = conversation.tokens - _tokens(conversation, kept)
    most = settings.summary_most_tokens
    return min(max(int(limit * settings.summary_share), LEAST_SUMMARY), others, others if most is None else most)


def _filled(conversation: Conversation, strategy: Strategy, must: Set[int], kept: Set[int], limit: int) -> set[int]:
    """`kept` and all that the strategy takes besides."""
    room = Room(limit - _tokens(conversation, kept))
    found = filled(conversation, kept, strategy.runs(conversation, conversation.first_request), room)
    # A window that was cut begins with a user message.
    begins = (
        index for index in sorted(found) if conversation.groups[index].is_request or conversation.groups[index].opens
    )
    first = next(begins, 0)
    return {index for index in found if index >= first or index in must}


def _tokens(conversation: Conversation, kept: Set[int]) -> int:
    return total(conversation.groups[index] for index in kept)
