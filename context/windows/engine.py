"""The one engine of all windows: what of a conversation always stays, when it is cut, what then goes, and why.

It sees conversations by reference. Whose window it is, and how the parts of a window share its tokens, is for the
callers: `purser.context.windows.agent` and `purser.context.windows.listing`.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from functools import cached_property

from purser.context.conversation.conversations import Conversation, Group, total
from purser.context.conversation.messages import Message
from purser.context.settings import share
from purser.context.strategies import STRATEGIES, Strategy, StrategyName, StrategySettings, strategy_of
from purser.context.strategies.choice import Preference, choose

CHARACTERS_PER_TOKEN = 4
"""What `auto` takes a token for where there is no text."""
LEAST_SUMMARY = 85
"""Tokens that a summary needs to say something: its header, and some 60 for what was said."""

OVER_BUDGET = "over_budget"
"""Why a window drops a message: what goes before it filled the window."""
OLDER_THAN_ROUNDS = "older_than_rounds"
"""It is older than the rounds that the strategy takes."""
BEFORE_FIRST_REQUEST = "before_first_request"
"""A window that was cut begins with a user message."""
NO_SUMMARY = "no_summary"
"""Whatever was asked for a summary wrote none, or none fitted."""


class Room:
    """Tokens that are left while a window is filled."""

    def __init__(self, tokens: int) -> None:
        self.left = tokens

    def takes(self, tokens: int) -> bool:
        """Whether so many more fit; then they are taken."""
        if fits := tokens <= self.left:
            self.left -= tokens
        return fits


@dataclass(frozen=True, slots=True)
class Shown:
    """A summary as a window shows it."""

    text: str
    message: Message
    """With its header."""
    tokens: int
    """Of the message."""


Write = Callable[[Sequence[int], int], Shown | None]
"""Writes a summary of some groups, by index, that takes at most so many tokens; `None` if it cannot."""


@dataclass(frozen=True, slots=True)
class Selection:
    """What a window holds of a conversation."""

    verbatim: Set[int]
    """Groups that stay verbatim, by index."""
    summary: Shown | None = None
    """Written for this window: covers all other groups; without one they are dropped."""


# --- the rule and the trigger ----------------------------------------------------------------------------------------


def is_crowded(figures: StrategySettings, *, tokens: int, budget: int, messages: int = 0) -> bool:
    """Whether a whole window of so many tokens and messages is above the trigger of its budget."""
    trigger = max(0, share(budget, figures.trigger_ratio) - figures.reply_reserve)
    return tokens > trigger or (figures.most_messages is not None and messages > figures.most_messages)


def choose_rule(
    name: StrategyName,
    figures: StrategySettings,
    groups: Sequence[Group],
    *,
    messages: int,
    crowded: bool,
    preference: Preference,
    summaries: int,
    can_summarize: bool,
    question_tokens: int = 0,
    characters: int | None = None,
) -> tuple[Strategy, str]:
    """The rule to go by, and why, where `auto` leaves it open.

    Args:
        name, figures: of the strategy that is wanted.
        groups: of the conversations that the window is made of.
        messages: of the conversation that it cuts, with the newest user message.
        crowded: from `is_crowded`; `auto` leaves alone what is not.
        preference, summaries, can_summarize: see `choose`.
        question_tokens: of the newest user message, where no group holds it.
        characters: of all texts, where they are known.
    """
    if not STRATEGIES[name].chooses:
        return strategy_of(name, figures, messages), ""
    refs = [ref for group in groups for ref in group.refs]
    choice = choose(
        messages=len(refs) + (question_tokens > 0),
        characters=CHARACTERS_PER_TOKEN * (total(groups) + question_tokens) if characters is None else characters,
        preference=preference,
        summaries=summaries,
        can_summarize=can_summarize,
        tool_messages=sum(bool(ref.call_ids) or ref.tool_call_id is not None for ref in refs),
    )
    rule = strategy_of(choice.strategy, figures, messages)
    return rule if crowded else rule.unbounded, choice.reason


# --- the cut ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cutter:
    """Cuts one conversation of a window."""

    conversation: Conversation
    rule: Strategy
    asked_after: bool = False
    """Whether the newest user message, such as a task's input, is shown after it by itself."""

    @cached_property
    def required(self) -> frozenset[int]:
        """Groups that every window holds: pins, system messages, the first user message, whatever a result may still
        join, the newest user message and the last step.

        What stands first of them has its request with it: a window that was cut begins with a user message.
        """
        groups = self.conversation.groups
        verbatim = {index for index, group in enumerate(groups) if group.fixed}
        verbatim.update(range(self.conversation.settled, len(groups)))
        if groups and not self.asked_after:
            users = [index for index, group in enumerate(groups) if any(ref.role == "user" for ref in group.refs)]
            verbatim.update([*users[-1:], len(groups) - 1])
        first = min((index for index in verbatim if groups[index].dialogue_count), default=-1)
        requests = [index for index in range(first + 1) if groups[index].is_request]
        return frozenset([*verbatim, *requests[-1:]])

    @cached_property
    def least(self) -> int:
        """Tokens of what every window holds."""
        return self.tokens(self.required)

    @cached_property
    def oldest(self) -> int:
        """The oldest group, by index, that the strategy takes among the newest."""
        return self.rule.oldest(self.conversation, int(self.asked_after))

    def tokens(self, verbatim: Iterable[int]) -> int:
        """Of some groups, by index."""
        return total(self.conversation.groups[index] for index in verbatim)

    def select(self, limit: int | None, figures: StrategySettings, write: Write | None = None) -> Selection:
        """Chooses what a window holds, everything if it can.

        What always stays is in it even beyond the limit. A summary is written into the room that the kept groups
        leave; the next groups in the strategy's order that fit beside it are then taken as well, and the summary is
        written anew for the rest, until none fits.

        Args:
            limit: tokens of kept groups and of a summary that is written; `None`: nothing is cut.
            figures: of the strategy.
            write: `None`: nothing writes summaries.
        """
        whole = range(len(self.conversation.groups))
        complete = self.oldest == 0 and self.conversation.omitted is None
        if limit is None or (complete and self.tokens(whole) <= limit):
            return Selection(frozenset(whole))
        more = self.rule.unbounded if figures.extends and self.rule.summarizes else self.rule
        if write is None or not self.rule.summarizes:
            return Selection(self._filled(more, self.required, limit))
        verbatim = self._filled(self.rule, self.required, limit - self.summary_reserve(figures, limit))
        while True:
            others = [index for index in whole if index not in verbatim]
            summary = write(others, limit - self.tokens(verbatim)) if others else None
            taken = self._filled(more, verbatim, limit - (summary.tokens if summary else 0))
            if taken == verbatim:
                return Selection(verbatim, summary)
            verbatim = taken

    def summary_reserve(self, figures: StrategySettings, limit: int) -> int:
        """Tokens that a summary of all but what always stays is sure to get, as far as that leaves them."""
        others = total(self.conversation.groups) - self.least
        most = figures.summary_most_tokens
        return min(max(int(limit * figures.summary_share), LEAST_SUMMARY), others, others if most is None else most)

    def dropped(self, selection: Selection, *, asked_summary: bool = False) -> Iterator[tuple[int, str]]:
        """Groups that are neither kept nor covered, by index, each with the reason.

        Args:
            selection: of this conversation.
            asked_summary: whether something was asked for a summary.
        """
        if selection.summary is not None:
            return
        for index in range(len(self.conversation.groups)):
            if index in selection.verbatim:
                continue
            if asked_summary and self.rule.summarizes:
                yield index, NO_SUMMARY
            elif self.rule.rounds is not None and index < self.oldest:
                yield index, OLDER_THAN_ROUNDS
            else:
                yield index, BEFORE_FIRST_REQUEST if index < self._begin else OVER_BUDGET

    @property
    def _leads(self) -> bool:
        """Whether a window that is cut begins with it, and so with a user message: a summary may stand before it, and
        an agent's own thread stands behind the task's input."""
        return not self.conversation.thread and self.conversation.summary is None

    @cached_property
    def _begin(self) -> int:
        """The first group that a window may show which was cut."""
        conversation = self.conversation
        if self.asked_after and not any(ref.role == "user" for ref in conversation.messages):
            return len(conversation.groups) if self._leads else 0
        return conversation.first_request if self._leads else 0

    def _filled(self, rule: Strategy, verbatim: Set[int], limit: int) -> set[int]:
        """`kept`, and whole groups besides: of each run of the rule those up to the first that does not fit."""
        groups, found = self.conversation.groups, set(verbatim)
        room = Room(limit - self.tokens(verbatim))
        for run in rule.runs(self.conversation, self._begin, newer_rounds=int(self.asked_after)):
            for index in run:
                if index not in found:
                    if not room.takes(groups[index].tokens):
                        break
                    found.add(index)
        if not self._leads:
            return found
        first = next((index for index in sorted(found) if groups[index].is_request or groups[index].opens), 0)
        return {index for index in found if index >= first or index in self.required}
