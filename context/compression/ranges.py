"""Which part of a conversation a compression covers, and how long its summary may be."""

from collections.abc import Sequence
from dataclasses import dataclass

from purser.context.conversation.conversations import Conversation, Group, leading, total
from purser.context.conversation.messages import SYSTEM_ROLES
from purser.context.settings import ContextSettings, share

LEAST_SUMMARY = 100
"""Tokens below which a summary says too little."""
SHRINK = 4
"""A summary grows by at most a quarter of what it newly covers."""
LEAST_GAIN = 10
"""A compression frees at least a tenth of what its conversation takes, or it is not worth what it loses."""


@dataclass(frozen=True, slots=True)
class Range:
    """What the next version of a summary covers."""

    first_seq: int
    last_seq: int
    seqs: tuple[int, ...]
    """Messages that it newly covers; those of the range that stay verbatim are not among them."""
    tokens_before: int
    """Of the last version and of these messages."""
    most_tokens: int
    """Of the message that shows the new version, at most."""
    passed: tuple[int, ...] = ()
    """Messages of the range that no version says anything of, because they are pinned."""

    @property
    def freed(self) -> int:
        """Tokens that a window gains, at least."""
        return self.tokens_before - self.most_tokens


def choose_range(conversation: Conversation, settings: ContextSettings, budget: int) -> Range | None:
    """Everything since the last summary up to the recents, in whole groups; primers stay out.

    With it goes what the last summary passed over because it was pinned, and is no longer: else it would stay for ever.

    Recents give way, oldest first, where the conversation would otherwise miss its target. The last group never does,
    nor does a call that waits for its result.

    Args:
        conversation: the thread to compress.
        settings: primers, recents and target.
        budget: context budget that the target is a share of.

    Returns:
        The range, or `None` where covering it would not gain enough.
    """
    groups, last = conversation.groups, min(len(conversation.groups) - 1, conversation.settled)
    first = conversation.primers(settings.primers)
    end = max(first, min(last, len(groups) - leading(groups[::-1], settings.recents_count)))
    old, target = conversation.summary.tokens if conversation.summary else 0, share(budget, settings.target_ratio)
    late = [one for one in _coverable(groups[:first]) if any(ref.passed_over for ref in one.refs)]
    new = total(late) + total(_coverable(groups[first:end]))
    remaining = total(groups) - new
    while end < last and remaining + _most_tokens(old, new, target - remaining) > target:
        more = total(_coverable(groups[end : end + 1]))
        end, new, remaining = end + 1, new + more, remaining - more
    covered = _coverable(groups[first:end])
    if not covered:
        return None
    first_seq = conversation.summary.first_seq if conversation.summary else covered[0].first_seq
    found = Range(
        first_seq=first_seq,
        last_seq=covered[-1].last_seq,
        seqs=tuple(seq for group in [*late, *covered] for seq in group.seqs),
        tokens_before=old + new,
        most_tokens=_most_tokens(old, new, target - remaining),
        passed=_passed(conversation, first_seq, covered[-1].last_seq),
    )
    return found if found.freed * LEAST_GAIN >= conversation.tokens else None


def _coverable(groups: Sequence[Group]) -> list[Group]:
    return [group for group in groups if not group.fixed]


def _passed(conversation: Conversation, first_seq: int, last_seq: int) -> tuple[int, ...]:
    """What stays verbatim in a range and was in no summary before."""
    known = conversation.summary.last_seq if conversation.summary else 0
    remaining = (ref for group in conversation.groups if group.fixed for ref in group.refs)
    return tuple(
        ref.seq
        for ref in remaining
        if first_seq <= ref.seq <= last_seq and (ref.passed_over or ref.seq > known) and ref.role not in SYSTEM_ROLES
    )


def _most_tokens(old: int, new: int, room: int) -> int:
    """The length that the target leaves for a summary, but never more than its content deserves."""
    return max(LEAST_SUMMARY, min(old + new // SHRINK, room))
