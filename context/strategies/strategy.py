"""Strategies: a table of their traits, and the selection rule over a conversation by reference.

A window first holds its required groups. The strategy then defines runs of further groups, each of which is included
whole until the first group that does not fit, and whether the rest is summarized or dropped.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

from purser.context.conversation.conversations import Conversation, leading
from purser.context.errors import InvalidSettings
from purser.context.strategies.settings import StrategySettings
from purser.wire.enums import StrategyName


@dataclass(frozen=True, slots=True)
class Traits:
    """Traits of a strategy."""

    primers: bool = False
    """Whether it includes the first messages before others."""
    recents: bool = False
    """Whether it limits the newest messages by number."""
    rounds: Callable[[StrategySettings, int], int | None] | None = None
    """Returns the number of rounds for its parameters and the size of a conversation; `None` for all that fit."""
    summarizes: bool = False
    """Whether a summary covers the rest. Otherwise the rest is dropped: the strategy is lossy."""
    retrieves: bool = False
    """Whether it has room for memory search results."""
    chooses: bool = False
    """Whether it chooses between the other strategies."""


def _by_size(settings: StrategySettings, messages: int) -> int | None:
    return next((rounds for least, rounds in settings.rounds_by_size if messages >= least), None)


STRATEGIES: Mapping[StrategyName, Traits] = {
    StrategyName.SLIDING_WINDOW: Traits(rounds=lambda parameters, messages: parameters.rounds),
    StrategyName.TOKEN_TRUNCATION: Traits(),
    StrategyName.SMART_TRUNCATION: Traits(rounds=_by_size),
    StrategyName.SUMMARY: Traits(recents=True, summarizes=True),
    StrategyName.THREE_PART: Traits(primers=True, recents=True, summarizes=True),
    StrategyName.HYBRID: Traits(primers=True, recents=True, summarizes=True, retrieves=True),
    StrategyName.AUTO: Traits(chooses=True),
}
"""Traits of every strategy."""


@dataclass(frozen=True, slots=True)
class Strategy:
    """The rule by which a window includes groups of a conversation."""

    name: StrategyName
    primers_count: int = 0
    """Number of first messages included before others."""
    recents_count: int | None = None
    """Number of newest messages included; `None` for all that fit."""
    recents_only: bool = False
    """Whether the recents are a limit even if there is room for more."""
    batch_count: int = 1
    """Number of messages older than the recents that are left out at a time."""
    rounds: int | None = None
    """Number of newest rounds included; `None` for all that fit."""
    summarizes: bool = False
    """Whether a summary covers the rest."""

    @property
    def unbounded(self) -> Self:
        """The same rule without limits on messages and rounds."""
        return replace(self, recents_count=None, rounds=None)

    @property
    def of_thread(self) -> Self:
        """The rule for an agent's own thread: as many of its newest steps as fit."""
        return replace(self.unbounded, primers_count=0)

    def runs(self, conversation: Conversation, begin: int = 0, *, newer_rounds: int = 0) -> tuple[Sequence[int], ...]:
        """Indexes of groups in order of inclusion: the last exchange, primers, then all others newest first.

        Args:
            conversation: the conversation by reference.
            begin: index of the first group that may be included.
            newer_rounds: number of later rounds shown separately, such as that of a task's input.
        """
        groups = conversation.groups
        # A question without an answer is not an exchange.
        last = len(groups) - 1 - bool(groups and groups[-1].is_request and not newer_rounds)
        oldest = max(begin, conversation.included_from, self.oldest(conversation, newer_rounds))
        exchange = range(last, max(last - 2, oldest - 1), -1)
        primers = range(begin, conversation.primers(self.primers_count, begin)) if self.primers_count else range(0)
        return exchange, primers, range(last, oldest - 1, -1)

    def oldest(self, conversation: Conversation, newer_rounds: int = 0) -> int:
        """Index of the oldest group among the newest that may be included."""
        groups = conversation.groups
        if self.rounds is not None:
            begins = [index for index, group in enumerate(groups) if group.is_request]
            older = len(begins) + newer_rounds - self.rounds
            if older <= 0:
                return 0
            return begins[older] if older < len(begins) else len(groups)
        if self.recents_count is not None:
            dialogue_count = conversation.dialogue_count
            batches = max(0, dialogue_count - self.recents_count) // self.batch_count
            return len(groups) - leading(groups[::-1], dialogue_count - batches * self.batch_count)
        return 0


def strategy_of(name: StrategyName, settings: StrategySettings, messages: int) -> Strategy:
    """Creates the rule of a strategy.

    Args:
        name: any strategy but `auto`, which chooses between the others.
        settings: parameters of the strategy.
        messages: number of messages in the conversation that no stored summary covers.
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
        recents_only=traits.recents and not settings.extends,
        batch_count=settings.batch_count,
        rounds=rounds(settings, messages) if rounds else None,
        summarizes=traits.summarizes,
    )
