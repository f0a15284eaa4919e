"""Compression ranges: which messages a compression covers, and how long its summary may be."""

from collections.abc import Collection
from dataclasses import dataclass

from purser.context.conversation.conversations import Conversation, Group, total
from purser.context.conversation.messages import SYSTEM_ROLES
from purser.context.settings import ContextSettings
from purser.context.strategies.settings import share

SUMMARY_SHARE = 0.4
"""Share of the target for which recents give way to the summary."""
LEAST_GAIN = 10
"""A compression must free at least a tenth of the conversation's tokens to be worth its loss of detail."""


@dataclass(frozen=True, slots=True)
class Range:
    """The range that the next version of a summary covers."""

    first_seq: int
    last_seq: int
    seqs: tuple[int, ...]
    """Newly covered messages, without those in the range that stay verbatim."""
    tokens_before: int
    """Tokens of the last version plus the newly covered messages."""
    most_tokens: int
    """Upper bound of the message that shows the new version."""
    passed: tuple[int, ...] = ()
    """Messages in the range that stay verbatim: pins, the newest user message, and what belongs to their calls."""

    @property
    def freed(self) -> int:
        """Minimum number of tokens that a window gains."""
        return self.tokens_before - self.most_tokens


def choose_range(
    conversation: Conversation, settings: ContextSettings, budget: int, *, question_follows: bool = False
) -> Range | None:
    """Chooses whole groups from the last summary up to the recents; primers are left out.

    It passes over what every window shows verbatim: pins and the newest user message. The range includes messages that
    the last summary passed over and for which that no longer holds; otherwise they would stay in windows for ever.

    Recents are covered, oldest first, where they would leave the summary less than `SUMMARY_SHARE` of the target, or
    less than the length that its content deserves. The last group is never covered, nor is a call that waits for its
    result. Where system messages, pins and primers alone take that share, the summary gets it beyond the target, but at
    most half of what they leave below the trigger.

    Args:
        conversation: the thread to compress.
        settings: numbers of primers and recents, the batch, trigger and target ratio and the length of summaries.
        budget: context budget in tokens to which the target ratio applies.
        question_follows: whether the newest user message, such as a task's input, is not in the conversation.

    Returns:
        The range, or `None` where covering it would not free enough tokens.
    """
    conversation = settings.seen(conversation)
    groups, last = conversation.groups, min(len(conversation.groups) - 1, conversation.settled)
    first = conversation.primers(settings.primers)
    end = max(first, min(last, settings.recents(conversation.count).oldest(conversation)))
    old, target = conversation.summary.tokens if conversation.summary else 0, share(budget, settings.target_ratio)
    newest = None if question_follows else conversation.newest_request
    verbatim = conversation.fixed.union([] if newest is None else [newest])

    def coverable(begin: int, end: int) -> list[Group]:
        return [groups[index] for index in range(begin, end) if index not in verbatim]

    late = [one for one in coverable(0, first) if any(ref.passed_over for ref in one.refs)]
    new = total(late) + total(coverable(first, end))
    remaining = total(groups) - new
    reserve = share(target, SUMMARY_SHARE)
    while end < last and remaining + _most_tokens(settings, old, new, reserve) > target:
        more = total(coverable(end, end + 1))
        end, new, remaining = end + 1, new + more, remaining - more
    covered = coverable(first, end)
    if not covered:
        return None
    below_trigger = share(budget, settings.trigger_ratio) - remaining
    # The newest user message may open the range, so that a later version covers it.
    begin = next(index for index in range(first, end) if index not in conversation.fixed)
    first_seq = conversation.summary.first_seq if conversation.summary else groups[begin].first_seq
    found = Range(
        first_seq=first_seq,
        last_seq=covered[-1].last_seq,
        seqs=tuple(seq for group in [*late, *covered] for seq in group.seqs),
        tokens_before=old + new,
        most_tokens=_most_tokens(settings, old, new, max(target - remaining, min(reserve, below_trigger // 2))),
        passed=_passed(conversation, verbatim, first_seq, covered[-1].last_seq),
    )
    return found if found.freed * LEAST_GAIN >= conversation.tokens else None


def _passed(conversation: Conversation, verbatim: Collection[int], first_seq: int, last_seq: int) -> tuple[int, ...]:
    """Messages of verbatim groups, given by index, in a range and outside the last summary."""
    known = conversation.summary.last_seq if conversation.summary else 0
    remaining = (ref for index in sorted(verbatim) for ref in conversation.groups[index].refs)
    return tuple(
        ref.seq
        for ref in remaining
        if first_seq <= ref.seq <= last_seq and (ref.passed_over or ref.seq > known) and ref.role not in SYSTEM_ROLES
    )


def _most_tokens(settings: ContextSettings, old: int, new: int, room: int) -> int:
    """Tokens that the target leaves for a summary, bounded by the amount of content."""
    most = max(settings.summary_min_tokens, min(old + share(new, settings.summary_ratio), room))
    return most if settings.summary_max_tokens is None else min(most, settings.summary_max_tokens)
