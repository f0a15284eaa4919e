"""Pins: messages that stay verbatim in every window, and how many tokens they may take."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from purser.context.conversation.conversations import MessageRef
from purser.context.conversation.messages import group
from purser.context.errors import PinsTooLarge

PIN_BUDGET = 8_000
"""Tokens that the live pins of one session may take together, unless a setting says otherwise."""


@dataclass(frozen=True, slots=True)
class Pin:
    """One message that somebody keeps verbatim."""

    seq: int
    author: str
    """Name of the key that pinned it; empty: the message came pinned."""
    reason: str | None
    pinned_at: datetime
    until: datetime | None
    """When it ends by itself."""


def pinned_tokens(messages: Iterable[tuple[str, MessageRef]]) -> int:
    """Tokens that pins keep in windows: a pinned call with all its results, a pinned result with its call.

    Args:
        messages: thread and message, in sequence; at least the pinned ones and what is grouped with them.
    """
    threads = defaultdict(list)
    for thread, message in messages:
        threads[thread].append(message)
    groups = ([refs[index] for index in span] for refs in threads.values() for span in group(refs))
    return sum(ref.tokens for refs in groups if any(one.pinned for one in refs) for ref in refs)


def check_pins(tokens: int, budget: int) -> None:
    """Raises `PinsTooLarge` where the pins of a session take more than they may."""
    if tokens > budget:
        raise PinsTooLarge(tokens, budget=budget)
