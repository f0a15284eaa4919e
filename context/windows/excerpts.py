"""Excerpts of long threads: the part of a thread that planning needs if a window cannot show all of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise, takewhile

from purser.context.conversation.conversations import Conversation, MessageRef
from purser.context.conversation.messages import SYSTEM_ROLES
from purser.context.strategies.settings import StrategySettings

LONG = max(least for least, _ in StrategySettings().rounds_by_size)
"""Number of messages from which rules by conversation length no longer differ; an excerpt has at least as many."""
NEWEST = LONG + 13
"""Newest messages that are never omitted by tokens alone, so that `LONG` remain if the gap extends over a group."""


@dataclass(frozen=True, slots=True)
class Within:
    """Upper bounds of what a window can show of a thread."""

    tokens: int
    """Tokens of its newest messages."""
    primers: int
    """Number of its first messages, starting with the first user message."""
    newest: int = NEWEST
    """Newest messages that are never omitted."""


def gap_begin(older: Sequence[MessageRef], begin: int, *, opening: int, covered: int, primers: int) -> int | None:
    """Extends the gap of an excerpt over a call before it that lacks results.

    Args:
        older: the included messages before the gap, in sequence.
        begin: the first omitted message.
        opening: the first user message; 0 if there is none.
        covered: the last message that a summary covers; everything before it is complete. 0 if there is no summary.
        primers: number of messages, from the first user message, that planning needs if nothing is covered.

    Returns:
        The first omitted message, or `None` if the whole thread must be read: the primers are incomplete or lack
        results of their calls.
    """
    head = [ref for ref in older if covered < ref.seq < begin]
    known = Conversation("", tuple(head))
    first = next((one.first_seq for one in known.groups[known.settled :]), begin)
    whole = sum(opening <= ref.seq < first and ref.role not in SYSTEM_ROLES for ref in head)
    return None if not covered and (whole < primers or opening >= first) else first


def gap_end(newer: Sequence[MessageRef], end: int) -> int:
    """Extends the gap of an excerpt over results whose call it omits, given all messages after it, and returns its
    last message."""
    known = Conversation("", tuple(newer))
    # An omitted call waits no longer once the assistant writes again after somebody else.
    waits = takewhile(lambda pair: pair[1].role != "assistant" or pair[0].role == "assistant", pairwise(newer))
    last = max((ref.seq for _, ref in waits), default=newer[0].seq)
    reached = (one for one in known.groups if one.first_seq <= last)
    return max((one.last_seq for one in reached if any(one.unmatched)), default=end)
