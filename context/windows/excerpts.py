"""Excerpts of long threads: what planning is told when only a part of a thread can be in a window."""

from collections.abc import Sequence
from dataclasses import dataclass

from purser.context.conversation.conversations import Group, MessageRef
from purser.context.conversation.messages import SYSTEM_ROLES, group
from purser.context.strategies.settings import StrategySettings

LONG = max(least for least, _ in StrategySettings().rounds_by_size)
"""To rules that go by the length of a conversation, none of so many messages is longer: an excerpt has as many."""
NEWEST = LONG + 13
"""Newest messages that tokens alone leave out of no excerpt: so that `LONG` are left when a group goes with its gap."""


@dataclass(frozen=True, slots=True)
class Within:
    """What a window can show of a thread at most."""

    tokens: int
    """Of its newest messages."""
    primers: int
    """Of its first messages, from the first of a user on."""


def gap_of(refs: Sequence[MessageRef], gap: tuple[int, int], *, covered: int, primers: int) -> tuple[int, int] | None:
    """The gap of an excerpt with all groups that reach into it.

    Args:
        refs: what is told, in sequence; in the gap only what always stays.
        gap: messages that are not told, first and last.
        covered: the last message that a summary covers; what stands before it is whole. 0: there is none.
        primers: messages from the first of a user on that planning needs where nothing is covered.

    Returns:
        `None` where only the whole thread tells: those primers are not all there, with the results of their calls, or
        too few messages are newer to tell how long the thread is.
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
    for span in group(tail):
        held = tail[span.start : span.stop]
        called.update(identifier for ref in held for identifier in ref.call_ids)
        if any(ref.tool_call_id is not None and ref.tool_call_id not in called for ref in held):
            last = held[-1].seq
    return (first, last) if sum(ref.seq > last for ref in tail) >= LONG else None


def included_seqs(refs: Sequence[MessageRef], gap: tuple[int, int]) -> set[int]:
    """Sequence numbers of what an excerpt tells: all around its gap, and in it what always stays."""
    opening = next((ref.seq for ref in refs if ref.role == "user"), 0)
    return {ref.seq for ref in refs if ref.fixed or ref.seq == opening or not gap[0] <= ref.seq <= gap[1]}
