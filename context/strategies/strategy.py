"""The one interface of all strategies: a table of what sets each apart, and the rule over a conversation by reference.

Before a strategy is asked, a window holds what always stays. The strategy tells in which order further groups are
taken, whole, each run until the first that does not fit, and what becomes of the groups that are not taken.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

from purser.context.conversation.conversations import Conversation, leading
from purser.context.errors import InvalidSettings
from purser.context.strategies.names import StrategyName
from purser.context.strategies.settings import StrategySettings


@dataclass(frozen=True, slots=True)
class Traits:
    """What sets a strategy apart."""

    primers: bool = False
    """Whether it takes the first messages before others."""
    recents: bool = False
    """Whether a number of messages bounds the newest that it takes."""
    rounds: Callable[[StrategySettings, int], int | None] | None = None
    """Rounds that it takes, by its figures and the messages of a conversation; `None`: all that fit."""
    summarizes: bool = False
    """Whether what it does not take is covered by a summary. Otherwise it is dropped: the strategy is lossy."""
    retrieves: bool = False
    """Whether it has room for what memory finds."""
    chooses: bool = False
    """Whether it is a choice between the others."""


def _by_size(settings: StrategySettings, messages: int) -> int | None:
    return next((rounds for least, rounds in settings.rounds_by_size if messages >= least), None)


STRATEGIES: Mapping[StrategyName, Traits] = {
    StrategyName.SLIDING_WINDOW: Traits(rounds=lambda figures, messages: figures.rounds),
    StrategyName.TOKEN_TRUNCATION: Traits(),
    StrategyName.SMART_TRUNCATION: Traits(rounds=_by_size),
    StrategyName.SUMMARY: Traits(recents=True, summarizes=True),
    StrategyName.THREE_PART: Traits(primers=True, recents=True, summarizes=True),
    StrategyName.HYBRID: Traits(primers=True, recents=True, summarizes=True, retrieves=True),
    StrategyName.AUTO: Traits(chooses=True),
}
"""All that the code knows of each strategy."""


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
    summarizes: bool = False
    """Whether what it does not take is covered by a summary."""

    @property
    def unbounded(self) -> Self:
        """The same with all that fits, whatever number of messages or rounds that is."""
        return replace(self, recents_count=None, rounds=None)

    @property
    def of_thread(self) -> Self:
        """The same for an agent's own thread: its newest steps, as many as fit."""
        return replace(self.unbounded, primers_count=0)

    def runs(self, conversation: Conversation, begin: int = 0, *, newer_rounds: int = 0) -> tuple[Sequence[int], ...]:
        """Groups by index, in the order in which they are taken: the last exchange, primers, then newest first.

        Args:
            conversation: by reference.
            begin: the first group that may be taken.
            newer_rounds: rounds that came after it and are shown elsewhere, such as that of a task's input.
        """
        groups = conversation.groups
        # A question that still waits for its answer is no exchange.
        last = len(groups) - 1 - bool(groups and groups[-1].is_request and not newer_rounds)
        oldest = max(begin, conversation.included_from, self.oldest(conversation, newer_rounds))
        exchange = range(last, max(last - 2, oldest - 1), -1)
        primers = range(begin, conversation.primers(self.primers_count, begin)) if self.primers_count else range(0)
        return exchange, primers, range(last, oldest - 1, -1)

    def oldest(self, conversation: Conversation, newer_rounds: int = 0) -> int:
        """The oldest group, by index, that is taken among the newest."""
        groups = conversation.groups
        if self.rounds is not None:
            begins = [index for index, group in enumerate(groups) if group.is_request]
            older = len(begins) + newer_rounds - self.rounds
            if older <= 0:
                return 0
            return begins[older] if older < len(begins) else len(groups)
        if self.recents_count is not None:
            dialogue_count = sum(group.dialogue_count for group in groups)
            batches = max(0, dialogue_count - self.recents_count) // self.batch_count
            return len(groups) - leading(groups[::-1], dialogue_count - batches * self.batch_count)
        return 0


def strategy_of(name: StrategyName, settings: StrategySettings, messages: int) -> Strategy:
    """The rule of a strategy.

    Args:
        name: any but `auto`, which is a choice between the others.
        settings: its figures.
        messages: of the whole conversation; of a stored one those that no summary covers.
    """
    traits = STRATEGIES[name]
    if traits.chooses:
        raise InvalidSettings(
            f"{name} is a choice between strategies: take what purser.context.strategies.choice.choose names"
        )
    rounds = _by_size if traits.recents and settings.summary_by_rounds else traits.rounds
    return Strategy(
        name,
        primers_count=settings.primers_count if traits.primers else 0,
        recents_count=settings.recents_count if traits.recents and rounds is None else None,
        batch_count=settings.batch_count,
        rounds=rounds(settings, messages) if rounds else None,
        summarizes=traits.summarizes,
    )
