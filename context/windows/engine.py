"""Window engine: decides which groups are required, when a conversation is cut, what is dropped, and why.

It works on conversations by reference. Its callers, `purser.context.windows.agent_window` and
`purser.context.windows.listing`, distribute the tokens of a window among its parts.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property

from purser.context.conversation.conversations import Conversation, Figures
from purser.context.conversation.messages import Message
from purser.context.strategies import STRATEGIES, Strategy, StrategyName, StrategySettings, strategy_of
from purser.context.strategies.choice import Preference, choose
from purser.context.strategies.settings import share

LEAST_SUMMARY = 85
"""Minimum tokens of a useful summary: its header, and about 60 for content."""

OVER_BUDGET = "over_budget"
"""Reason to drop a message: messages that take precedence filled the window."""
OLDER_THAN_ROUNDS = "older_than_rounds"
"""Reason to drop a message: it is older than the rounds that the strategy includes."""
OLDER_THAN_RECENTS = "older_than_recents"
"""Reason to drop a message: the window shows no messages older than the recents."""
BEFORE_FIRST_REQUEST = "before_first_request"
"""Reason to drop a message: a cut window begins with a user message."""
BEYOND_EXTRACT = "beyond_extract"
"""Reason to drop a message: it is older than what an extract made for one window reads."""
NO_SUMMARY = "no_summary"
"""Reason to drop a message: the summarizer wrote no summary, or none that fits."""


class Room:
    """Tokens remaining while a window is filled."""

    def __init__(self, tokens: int) -> None:
        self.left = tokens

    def takes(self, tokens: int) -> bool:
        """Reserves the tokens if they fit, and returns whether they do."""
        if fits := tokens <= self.left:
            self.left -= tokens
        return fits


@dataclass(frozen=True, slots=True)
class Shown:
    """A summary as shown in a window."""

    text: str
    message: Message
    """The message, with its header."""
    tokens: int
    """Tokens of the message."""
    oldest: int = 0
    """Index of the oldest group that it covers."""


Write = Callable[[Sequence[int], int], Shown | None]
"""Writes a summary of some groups, given by index, within a number of tokens; `None` if it cannot."""


@dataclass(frozen=True, slots=True)
class Selection:
    """The part of a conversation that a window contains."""

    verbatim: Set[int]
    """Indexes of the groups that stay verbatim."""
    summary: Shown | None = None
    """Summary written for this window, which covers all other groups from its oldest on. The rest is dropped."""


# --- the rule and the trigger ----------------------------------------------------------------------------------------


def is_crowded(parameters: StrategySettings, *, tokens: int, budget: int, messages: int = 0) -> bool:
    """Whether a whole window of this size exceeds the trigger of its budget."""
    trigger = max(0, share(budget, parameters.trigger_ratio) - parameters.reply_reserve)
    return tokens > trigger or (parameters.most_messages is not None and messages > parameters.most_messages)


def choose_rule(
    name: StrategyName,
    parameters: StrategySettings,
    figures: Figures,
    *,
    messages: int,
    crowded: bool,
    preference: Preference,
    summaries: int,
    can_summarize: bool,
    question_tokens: int = 0,
    question_characters: int = 0,
    characters: int | None = None,
) -> tuple[Strategy, str]:
    """Returns the rule to apply, and the reason if `auto` chose it.

    Args:
        name, parameters: the requested strategy and its parameters.
        figures: sums over all uncovered messages of the conversations in the window.
        messages: number of messages in the conversation to cut, including the newest user message.
        crowded: result of `is_crowded`; `auto` does not limit a window that is not crowded.
        preference, summaries, can_summarize: see `choose`.
        question_tokens, question_characters: of the newest user message, if `figures` leave it out.
        characters: length of all texts, if it is not that of `figures`.
    """
    if not STRATEGIES[name].chooses:
        return strategy_of(name, parameters, messages), ""
    choice = choose(
        messages=figures.messages + (question_tokens > 0),
        characters=figures.characters + question_characters if characters is None else characters,
        preference=preference,
        summaries=summaries,
        can_summarize=can_summarize,
        tool_messages=figures.tool_messages,
    )
    rule = strategy_of(choice.strategy, parameters, messages)
    return rule if crowded else rule.unbounded, choice.reason


# --- the cut ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cutter:
    """Cuts one conversation of a window."""

    conversation: Conversation
    rule: Strategy
    question_follows: bool = False
    """Whether the newest user message, such as a task's input, is shown separately after the conversation."""
    step_tokens: int = 0
    """Most tokens that a cut without a summary leaves out beyond what does not fit, see `StrategySettings.cut_step`."""
    seqs: Mapping[int, int] = field(default_factory=dict)
    """Sequence numbers by position, where the conversation has positions instead."""

    @cached_property
    def required(self) -> frozenset[int]:
        """Indexes of the required groups: pins, system messages, the first user message, groups that a result may still
        join, the newest user message and the last step.

        The user message that precedes the first of them is required too, because a cut window begins with a user
        message.
        """
        groups = self.conversation.groups
        verbatim = set(self.conversation.fixed)
        verbatim.update(range(self.conversation.settled, len(groups)))
        if groups and not self.question_follows:
            verbatim.add(len(groups) - 1)
            if (newest := self.conversation.newest_request) is not None:
                verbatim.add(newest)
        first = min((index for index in verbatim if groups[index].dialogue_count), default=-1)
        requests = [index for index in range(first + 1) if groups[index].is_request]
        return frozenset([*verbatim, *requests[-1:]])

    @cached_property
    def least(self) -> int:
        """Tokens of the required groups."""
        return self.tokens(self.required)

    @cached_property
    def oldest(self) -> int:
        """Index of the oldest group among the newest that the strategy includes."""
        return self.rule.oldest(self.conversation, int(self.question_follows))

    def tokens(self, verbatim: Iterable[int]) -> int:
        """Tokens of groups, given by index."""
        return sum(map(self.conversation.sizes.__getitem__, verbatim))

    def select(self, limit: int | None, parameters: StrategySettings, write: Write | None = None) -> Selection:
        """Selects the groups of a window: all of them if they fit.

        Required groups are included even beyond the limit. A summary is written into the room that the selected groups
        leave; further groups in the strategy's order that fit next to it are then included, and the summary is
        rewritten for the rest, until no more groups fit.

        Args:
            limit: upper bound of selected groups plus a newly written summary; `None` if nothing is cut.
            parameters: parameters of the strategy.
            write: writes the summary; `None` if there is no summarizer.
        """
        whole = range(len(self.conversation.groups))
        complete = self.oldest == 0 and self.conversation.omitted is None
        if limit is None or (complete and self.tokens(whole) <= limit):
            return Selection(frozenset(whole))
        more = self.rule.unbounded if parameters.extends and self.rule.summarizes else self.rule
        if write is None or not self.rule.summarizes:
            return Selection(self._filled(more, self.required, limit, in_steps=self.step_tokens > 0))
        verbatim = self._filled(self.rule, self.required, limit - self.summary_reserve(parameters, limit))
        while True:
            others = [index for index in whole if index not in verbatim]
            summary = write(others, limit - self.tokens(verbatim)) if others else None
            taken = self._filled(more, verbatim, limit - (summary.tokens if summary else 0))
            if taken == verbatim:
                return Selection(verbatim, summary)
            verbatim = taken

    def summary_reserve(self, parameters: StrategySettings, limit: int) -> int:
        """Tokens reserved for a summary of all groups that are not required."""
        others = self.conversation.figures.tokens - self.least
        most = parameters.summary_most_tokens
        return min(max(int(limit * parameters.summary_share), LEAST_SUMMARY), others, others if most is None else most)

    def dropped(self, selection: Selection, *, summary_requested: bool = False) -> Iterator[tuple[int, str]]:
        """Yields the index and the reason of each group that is neither verbatim nor covered.

        Args:
            selection: the selection for this conversation.
            summary_requested: whether a summarizer was called.
        """
        covered = selection.summary
        for index in range(len(self.conversation.groups)):
            if index in selection.verbatim or (covered is not None and index >= covered.oldest):
                continue
            if covered is not None:
                yield index, BEYOND_EXTRACT
            elif summary_requested and self.rule.summarizes:
                yield index, NO_SUMMARY
            elif self.rule.rounds is not None and index < self.oldest:
                yield index, OLDER_THAN_ROUNDS
            elif self.rule.recents_only and index < self.oldest:
                yield index, OLDER_THAN_RECENTS
            else:
                yield index, BEFORE_FIRST_REQUEST if index < self._begin else OVER_BUDGET

    def omitted_reason(self, selection: Selection, *, summary_requested: bool = False) -> str:
        """The reason for dropping the omitted range; takes the arguments of `dropped`."""
        if selection.summary is not None:
            return BEYOND_EXTRACT
        if summary_requested and self.rule.summarizes:
            return NO_SUMMARY
        by_rounds = self.rule.rounds is not None and self.oldest > self.conversation.included_from
        return OLDER_THAN_ROUNDS if by_rounds else OVER_BUDGET

    @property
    def _leads(self) -> bool:
        """Whether a cut window begins with this conversation, and so with a user message: not if a summary precedes it,
        nor for an agent's own thread, which follows the task's input."""
        return not self.conversation.thread and self.conversation.summary is None

    @cached_property
    def _begin(self) -> int:
        """Index of the first group that a cut window may show."""
        conversation = self.conversation
        if self.question_follows and not any(ref.role == "user" for ref in conversation.messages):
            return len(conversation.groups) if self._leads else 0
        return conversation.first_request if self._leads else 0

    def _step(self, found: Set[int]) -> set[int]:
        """Groups that are left out as well, so that the windows of later turns begin alike.

        Of the groups with which the newest ones may begin, it takes the one whose sequence number is the roundest in
        binary: it remains so while the conversation grows, until it has to be left out itself.
        """
        groups, required = self.conversation.groups, self.required
        begin, earliest = len(groups), self.conversation.included_from
        while begin > earliest and begin - 1 in found:
            begin -= 1
        is_whole = begin == earliest and self.conversation.omitted is None
        if self.rule.rounds is not None or is_whole or begin == len(groups):
            return set()
        first, roundest, room = begin, self._between(begin, begin), Room(self.step_tokens)
        exchange = len(groups) - 1 - (not self.question_follows)
        for index in range(begin + 1, exchange):
            if index - 1 not in required and not room.takes(self.conversation.sizes[index - 1]):
                break
            if self._between(index - 1, index) > roundest:
                begin, roundest = index, self._between(index - 1, index)
        return set(range(first, begin)) - required

    def _between(self, older: int, newer: int) -> int:
        """How round the roundest sequence number is from the end of one group to the beginning of another."""
        groups = self.conversation.groups
        last, begin = groups[older].last_seq, groups[newer].first_seq
        last, begin = self.seqs.get(last, last), self.seqs.get(begin, begin)
        return (last ^ begin if older < newer else begin - 1 ^ begin).bit_length()

    def _filled(self, rule: Strategy, verbatim: Set[int], limit: int, *, in_steps: bool = False) -> set[int]:
        """Adds whole groups to `verbatim`: of each run of the rule, those up to the first that does not fit."""
        groups, sizes, found = self.conversation.groups, self.conversation.sizes, set(verbatim)
        left = limit - self.tokens(verbatim)
        for run in rule.runs(self.conversation, self._begin, newer_rounds=int(self.question_follows)):
            for index in run:
                if index not in found:
                    if sizes[index] > left:
                        break
                    left -= sizes[index]
                    found.add(index)
        if in_steps:
            found -= self._step(found)
        if not self._leads:
            return found
        first = next((index for index in sorted(found) if groups[index].is_request or groups[index].opens), 0)
        return found - set(range(first)) | (found & self.required)
