"""Excerpts of long threads: the part of a thread that planning needs if a window cannot show all of it."""

from collections.abc import Sequence
from dataclasses import dataclass

from purser.context.conversation.conversations import Group, MessageRef
from purser.context.conversation.messages import SYSTEM_ROLES, group
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


def gap_of(refs: Sequence[MessageRef], gap: tuple[int, int], *, covered: int, primers: int) -> tuple[int, int] | None:
    """Extends the gap of an excerpt over all groups that reach into it.

    Args:
        refs: the included messages, in sequence; in the gap only required ones.
        gap: first and last omitted message.
        covered: the last message that a summary covers; everything before it is complete. 0 if there is no summary.
        primers: number of messages, from the first user message, that planning needs if nothing is covered.

    Returns:
        The gap, or `None` if the whole thread must be read: the primers are incomplete or lack results of their calls,
        or too few messages are newer to determine the length class of the thread.
    """
    head = [ref for ref in refs if covered < ref.seq < gap[0]]
    tail = [ref for ref in refs if ref.seq > gap[1]]
    groups = [Group(tuple(head[span.start : span.stop])) for span in group(head)]
    first = next((one.first_seq for one in groups if one.waits), gap[0])
    opening = next((ref.seq for ref in refs if ref.role == "user"), 0)
    whole = sum(opening <= ref.seq < first and ref.role not in SYSTEM_ROLES for ref in head)
    if not covered and (whole < primers or opening >= first):
        return None
    called: set[str] = set()
    last = gap[1]
    for span in group(tail) if any(ref.tool_call_id is not None for ref in tail) else ():
        held = tail[span.start : span.stop]
        called.update(identifier for ref in held for identifier in ref.call_ids)
        if any(ref.tool_call_id is not None and ref.tool_call_id not in called for ref in held):
            last = held[-1].seq
    return (first, last) if sum(ref.seq > last for ref in tail) >= LONG else None


def included_seqs(refs: Sequence[MessageRef], gap: tuple[int, int]) -> set[int]:
    """Sequence numbers of an excerpt: all messages outside its gap, and the required ones in it."""
    opening = next((ref.seq for ref in refs if ref.role == "user"), 0)
    return {ref.seq for ref in refs if ref.fixed or ref.seq == opening or not gap[0] <= ref.seq <= gap[1]}
