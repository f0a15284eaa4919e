"""Pins: messages that stay verbatim in every window, and their token budget."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from purser.context.conversation.conversations import MessageRef
from purser.context.conversation.messages import group
from purser.context.errors import PinsTooLarge

PIN_BUDGET = 8_000
"""Default token budget of all live pins of one session."""


@dataclass(frozen=True, slots=True)
class Pin:
    """The pin of one message, which keeps it verbatim in windows."""

    seq: int
    author: str
    """Name of the key that pinned it; empty if the message was appended as pinned."""
    reason: str | None
    pinned_at: datetime
    until: datetime | None
    """When the pin expires; `None` for never."""


def pinned_tokens(messages: Iterable[tuple[str, MessageRef]]) -> int:
    """Tokens of all pinned groups: a pinned call counts with its results, a pinned result with its call.

    Args:
        messages: pairs of thread and message, in sequence; at least the pinned ones and those grouped with them.
    """
    threads = defaultdict(list)
    for thread, message in messages:
        threads[thread].append(message)
    groups = ([refs[index] for index in span] for refs in threads.values() for span in group(refs))
    return sum(ref.tokens for refs in groups if any(one.pinned for one in refs) for ref in refs)


def check_pins(tokens: int, budget: int) -> None:
    """Raises `PinsTooLarge` if the pins of a session exceed their budget."""
    if tokens > budget:
        raise PinsTooLarge(tokens, budget=budget)
