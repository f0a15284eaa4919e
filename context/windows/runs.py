"""Runs of consecutive messages, as first and last index."""

from collections.abc import Iterable

from purser.context.conversation.conversations import Conversation


def unread_runs(conversation: Conversation, count: int) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Runs of positions of `count` messages that a conversation does not include: covered ones, and omitted ones."""
    covered, omitted, upto = list[tuple[int, int]](), list[tuple[int, int]](), -1
    if count == 0:
        return covered, omitted
    watermark = conversation.summary.last_seq if conversation.summary else -1
    end = len(conversation.messages) + count
    for seq in (*(ref.seq for ref in conversation.messages), end):
        first, last, upto = upto + 1, seq - 1, seq
        if first > last:
            continue
        if first <= min(last, watermark):
            covered.append((first, min(last, watermark)))
        if max(first, watermark + 1) <= last:
            omitted.append((max(first, watermark + 1), last))
    return covered, omitted


def joined(ranges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Joins ranges of indexes that follow one another."""
    runs: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if runs and first == runs[-1][1] + 1:
            runs[-1] = (runs[-1][0], last)
        else:
            runs.append((first, last))
    return runs
