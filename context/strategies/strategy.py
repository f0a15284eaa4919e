"""The one interface of all strategies: a rule over a conversation by reference.

Before a strategy is asked, a window holds what always stays. The strategy tells in which order further groups are
taken, whole, each run until the first that does not fit, and what becomes of the groups that are not taken.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from context.conversations import Conversation, leading
from context.errors import InvalidSettings
from context.strategies.names import StrategyName
from context.strategies.settings import StrategySettings


@dataclass(frozen=True, slots=True)
class Strategy:
    """What a window takes of a conversation."""

    name: StrategyName
    primers_count: int = 0
    """First messages that it takes before others."""
    recents_count: int | None = None
    """Newest messages that it takes; `None`: all that fit."""
    batch_count: int = 1
    """Messages older than the recents are left out so many at a time."""
    rounds: int | None = None
    """Newest rounds that it takes; `None`: all that fit."""
    summarises: bool = False
    """Whether what it does not take is covered by a summary. Otherwise it is dropped: the strategy is lossy."""
    retrieves: bool = False
    """Whether it has room for what memory finds."""

    def runs(self, conversation: Conversation, begin: int = 0, *, newer_rounds: int = 0) -> tuple[Sequence[int], ...]:
        """Groups by index, in the order in which they are taken: the last exchange, primers, then newest first.

        Args:
            conversation: by reference.
            begin: the first group that may be taken.
            newer_rounds: rounds that came after it and are shown elsewhere, such as that of a task's input.
        """
        last = len(conversation.groups) - 1
        oldest = max(begin, conversation.told_from, self.oldest(conversation, newer_rounds))
        exchange = range(last, max(last - 2, oldest - 1), -1)
        primers = range(begin, conversation.primers(self.primers_count, begin)) if self.primers_count else range(0)
        return exchange, primers, range(last, oldest - 1, -1)

    def oldest(self, conversation: Conversation, newer_rounds: int = 0) -> int:
        """The oldest group, by index, that is taken among the newest."""
        groups = conversation.groups
        if self.rounds is not None:
            begins = [index for index, group in enumerate(groups) if group.is_request]
            older = len(begins) + newer_rounds - self.rounds
            return 0 if older <= 0 else [*begins, len(groups)][min(older, len(begins))]
        if self.recents_count is not None:
            talk = sum(group.talk for group in groups)
            batches = max(0, talk - self.recents_count) // self.batch_count
            return len(groups) - leading(groups[::-1], talk - batches * self.batch_count)
        return 0


def strategy_of(name: StrategyName, settings: StrategySettings, messages: int) -> Strategy:
    """The rule of a strategy.

    Args:
        name: any but `auto`, which is a choice between the others.
        settings: its figures.
        messages: of the whole conversation; of a live one those that no summary covers.
    """
    by_size = next((rounds for least, rounds in settings.rounds_by_size if messages >= least), None)
    primers, recents, batch = settings.primers_count, settings.recents_count, settings.batch_count
    match name:
        case StrategyName.SLIDING_WINDOW:
            return Strategy(name, rounds=settings.rounds)
        case StrategyName.TOKEN_TRUNCATION:
            return Strategy(name)
        case StrategyName.SMART_TRUNCATION:
            return Strategy(name, rounds=by_size)
        case StrategyName.SUMMARY if settings.summary_by_rounds:
            return Strategy(name, rounds=by_size, summarises=True)
        case StrategyName.SUMMARY:
            return Strategy(name, recents_count=recents, batch_count=batch, summarises=True)
        case StrategyName.THREE_PART:
            return Strategy(name, primers, recents, batch, summarises=True)
        case StrategyName.HYBRID:
            return Strategy(name, primers, recents, batch, summarises=True, retrieves=True)
        case StrategyName.AUTO:
            raise InvalidSettings("auto is a choice between strategies: take what context.choice.choose names")
