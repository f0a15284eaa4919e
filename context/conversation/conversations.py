"""Conversations by reference: sequence numbers, roles and token counts, never text."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from purser.context.conversation.messages import SYSTEM_ROLES, group, link

CHARACTERS_PER_TOKEN = 4
"""Characters per token of a text whose length is not known."""


class MessageRef(NamedTuple):
    """A stored message as the window planner sees it; thousands are made for a window, as tuples in half the time."""

    seq: int
    role: str
    tokens: int
    """Counted with the tokenizer of the window's model."""
    call_ids: tuple[str, ...] = ()
    tool_call_id: str | None = None
    pinned: bool = False
    passed_over: bool = False
    """Whether no summary covers it, even in its range: it was pinned or the newest user message when that was made, or
    is the newest user message now."""
    characters: int | None = None
    """Length of its text, if known."""
    added: int = 0
    """Further tokens that a window shows with it, because providers require each tool call to have its result."""

    @property
    def fixed(self) -> bool:
        """Whether it stays verbatim in every window, as pins and system messages do."""
        return self.pinned or self.role in SYSTEM_ROLES


@dataclass(frozen=True, slots=True)
class SummaryRef:
    """A stored summary as the window planner sees it."""

    version: int
    first_seq: int
    last_seq: int
    """It covers every message of its thread from `first_seq` to `last_seq` that is not fixed."""
    tokens: int
    """Tokens of the message that shows it."""


@dataclass(frozen=True, slots=True)
class Figures:
    """Sums over messages."""

    messages: int = 0
    dialogue: int = 0
    """Number of messages without system messages."""
    tool_messages: int = 0
    """Number of messages with tool calls or their results."""
    tokens: int = 0
    characters: int = 0
    """Length of their texts; of a text whose length is not known, four for each token."""

    @classmethod
    def of(cls, refs: Sequence[MessageRef]) -> "Figures":
        """The sums over these messages."""
        if not refs:
            return cls()
        # By column: there are thousands of messages.
        _, roles, tokens, call_ids, answered, _, _, lengths, added = zip(*refs, strict=True)
        system = sum(map(roles.count, SYSTEM_ROLES))
        linked = 0
        if any(call_ids) or answered.count(None) < len(answered):
            linked = sum(bool(called) or result is not None for called, result in zip(call_ids, answered, strict=True))
        if None in lengths:
            lengths = tuple(
                CHARACTERS_PER_TOKEN * count if length is None else length
                for count, length in zip(tokens, lengths, strict=True)
            )
        return cls(len(refs), len(refs) - system, linked, sum(tokens) + sum(added), sum(lengths))

    def __add__(self, other: "Figures") -> "Figures":
        return Figures(
            self.messages + other.messages,
            self.dialogue + other.dialogue,
            self.tool_messages + other.tool_messages,
            self.tokens + other.tokens,
            self.characters + other.characters,
        )

    def __sub__(self, other: "Figures") -> "Figures":
        return Figures(
            self.messages - other.messages,
            self.dialogue - other.dialogue,
            self.tool_messages - other.tool_messages,
            self.tokens - other.tokens,
            self.characters - other.characters,
        )


class Group(NamedTuple):
    """Messages that neither a window nor a summary may separate."""

    refs: tuple[MessageRef, ...]
    opens: bool = False
    """Whether it holds the first user message of its conversation, which stays verbatim."""

    # Nearly every group is one message: caching is not worth it, and a loop would take longer.

    @property
    def tokens(self) -> int:
        """Tokens of all its messages, as a window shows them."""
        first = self.refs[0]
        return first.tokens + first.added if len(self.refs) == 1 else sum(ref.tokens + ref.added for ref in self.refs)

    @property
    def fixed(self) -> bool:
        """Whether it stays verbatim because one of its messages does."""
        return self.opens or (self.refs[0].fixed if len(self.refs) == 1 else any(ref.fixed for ref in self.refs))

    @property
    def unanswered(self) -> Iterator[tuple[MessageRef, int]]:
        """Yields the message and the position of each call without a result."""
        answered = {(caller, self.refs[result].tool_call_id) for result, caller in link(self.refs).callers.items()}
        for caller, ref in enumerate(self.refs):
            for place, identifier in enumerate(ref.call_ids):
                if (caller, identifier) not in answered:
                    yield ref, place

    @property
    def unmatched(self) -> Iterator[MessageRef]:
        """Yields each result without its call."""
        callers = link(self.refs).callers
        yield from (ref for at, ref in enumerate(self.refs) if ref.tool_call_id is not None and at not in callers)

    @property
    def is_request(self) -> bool:
        """Whether it is a user message, which begins a round."""
        return self.refs[0].role == "user"

    @property
    def dialogue_count(self) -> int:
        """Number of its messages without system messages, which settings do not count."""
        return sum(ref.role not in SYSTEM_ROLES for ref in self.refs)

    @property
    def seqs(self) -> tuple[int, ...]:
        """Sequence numbers of its messages."""
        return tuple(ref.seq for ref in self.refs)

    @property
    def first_seq(self) -> int:
        """Sequence number of its first message."""
        return self.refs[0].seq

    @property
    def last_seq(self) -> int:
        """Sequence number of its last message."""
        return self.refs[-1].seq


@dataclass(frozen=True)
class Conversation:
    """One thread of a session and its latest summary.

    `messages` may contain any part of what the summary covers. It must contain all other messages, the first user
    message, and the newest one.
    """

    thread: str
    messages: tuple[MessageRef, ...] = ()
    """Messages in sequence."""
    summary: SummaryRef | None = None
    keeps_first_request: bool = True
    """Whether the first user message stays verbatim."""
    omitted: tuple[int, int] | None = None
    """First and last message of a range of which only required messages are included: newer ones leave no room."""
    omitted_figures: Figures = Figures()
    """Sums over the messages of that range that are not included."""

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """Groups that the summary does not cover, in sequence."""
        spans = group(self.messages)
        # Mostly each message is one group, and there are hundreds.
        is_each = len(spans) == len(self.messages)
        parts = zip(self.messages) if is_each else (self.messages[span.start : span.stop] for span in spans)
        found = list(map(Group, parts))
        opening = next((index for index, ref in enumerate(self.messages) if ref.role == "user"), None)
        if self.keeps_first_request and opening is not None:
            place = bisect_right(spans, opening, key=lambda span: span.start) - 1
            found[place] = found[place]._replace(opens=True)
        return tuple(found if self.summary is None else (one for one in found if one.fixed or not self._covers(one)))

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Tokens of each group."""
        return tuple(one.tokens for one in self.groups)

    @cached_property
    def fixed(self) -> frozenset[int]:
        """Indexes of the groups that stay verbatim in every window."""
        # Mostly nothing but the opening is fixed, which columns show in a tenth of the time.
        columns = list(zip(*self.messages, strict=True)) or [()] * len(MessageRef._fields)
        roles, pinned = columns[1], columns[5]
        opens_only = not any(pinned) and not any(map(roles.count, SYSTEM_ROLES))
        return frozenset(index for index, one in enumerate(self.groups) if one.opens or (not opens_only and one.fixed))

    @cached_property
    def first_request(self) -> int:
        """Index of the group with the first included user message; 0 if there is none."""
        return next(filter(self._has_request, range(len(self.groups))), 0)

    @cached_property
    def newest_request(self) -> int | None:
        """Index of the group with the newest user message; `None` if there is none."""
        return next(filter(self._has_request, reversed(range(len(self.groups)))), None)

    @cached_property
    def included_from(self) -> int:
        """Index of the first group after the omitted range."""
        return 0 if self.omitted is None else bisect_right(self.groups, self.omitted[1], key=lambda one: one.first_seq)

    @cached_property
    def settled(self) -> int:
        """Number of leading groups that no later message can join: all before a call that waits for its result."""
        waiting = self.messages[link(self.messages).waiting :]
        return bisect_left(self.groups, waiting[0].seq, key=lambda one: one.last_seq) if waiting else len(self.groups)

    @property
    def unanswered(self) -> list[tuple[int, int]]:
        """Message and position of each call that waits for its result."""
        return [(ref.seq, place) for one in self.groups[self.settled :] for ref, place in one.unanswered]

    @cached_property
    def figures(self) -> Figures:
        """Sums over all messages that the summary does not cover, omitted ones included."""
        refs = self.messages if self.summary is None else [ref for one in self.groups for ref in one.refs]
        return Figures.of(refs) + self.omitted_figures

    @property
    def tokens(self) -> int:
        """Tokens of the summary and of all messages that it does not cover."""
        return self.figures.tokens + (self.summary.tokens if self.summary else 0)

    @property
    def count(self) -> int:
        """Number of messages that the summary does not cover."""
        return self.figures.messages

    @property
    def dialogue_count(self) -> int:
        """Number of uncovered messages without system messages."""
        return self.figures.dialogue

    def primers(self, primers_count: int, begin: int = 0) -> int:
        """Number of leading groups before everything that a summary covers or may cover.

        There are no primers where other messages precede the first user message, because a window that is cut begins
        with a user message.

        Args:
            primers_count: minimum number of messages where nothing is covered yet.
            begin: index of the first group to count.
        """
        if self.summary is not None:
            return sum(one.first_seq <= self.summary.last_seq for one in self.groups)
        if any(not one.fixed for one in self.groups[begin : self.first_request]):
            return begin
        return begin + leading(self.groups[begin : self.included_from or None], primers_count)

    def _has_request(self, index: int) -> bool:
        return any(ref.role == "user" for ref in self.groups[index].refs)

    def _covers(self, one: Group) -> bool:
        summary = self.summary
        if summary is None or any(ref.passed_over for ref in one.refs):
            return False
        return summary.first_seq <= one.first_seq and one.last_seq <= summary.last_seq


def total(groups: Iterable[Group]) -> int:
    """Tokens of all groups."""
    return sum(one.tokens for one in groups)


def leading(groups: Sequence[Group], messages: int) -> int:
    """Number of leading groups needed to hold that many messages."""
    held = 0
    for count, one in enumerate(groups):
        if held >= messages:
            return count
        held += one.dialogue_count
    return len(groups)
