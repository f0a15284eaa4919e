"""Conversations by reference: sequence numbers, roles and token counts, never text."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from purser.context.conversation.messages import SYSTEM_ROLES, group


@dataclass(frozen=True, slots=True)
class MessageRef:
    """A stored message, as planning sees it."""

    seq: int
    role: str
    tokens: int
    """By the counter of the model that the window is for."""
    call_ids: tuple[str, ...] = ()
    tool_call_id: str | None = None
    pinned: bool = False
    passed_over: bool = False
    """It was pinned while the summary over its place was written: no summary says what it says."""

    @property
    def fixed(self) -> bool:
        """Whether it stays verbatim in every window: pins and system messages."""
        return self.pinned or self.role in SYSTEM_ROLES


@dataclass(frozen=True, slots=True)
class SummaryRef:
    """A stored summary, as planning sees it."""

    version: int
    first_seq: int
    last_seq: int
    """It covers every message of its thread from `first_seq` to `last_seq` that is not fixed."""
    tokens: int
    """Of the message that shows it."""


@dataclass(frozen=True, slots=True)
class Group:
    """Messages that no window and no summary separates."""

    refs: tuple[MessageRef, ...]
    opens: bool = False
    """Whether it holds the first user message of its conversation, which stays verbatim."""

    # Nearly every group is one message: nothing is worth remembering, and a loop would take longer.

    @property
    def tokens(self) -> int:
        """Of all its messages."""
        return self.refs[0].tokens if len(self.refs) == 1 else sum(ref.tokens for ref in self.refs)

    @property
    def fixed(self) -> bool:
        """Whether it stays verbatim, because one of its messages does."""
        return self.opens or (self.refs[0].fixed if len(self.refs) == 1 else any(ref.fixed for ref in self.refs))

    @property
    def waits(self) -> bool:
        """Whether one of its calls has no result yet."""
        called = {identifier for ref in self.refs for identifier in ref.call_ids}
        return not called <= {ref.tool_call_id for ref in self.refs}

    @property
    def is_request(self) -> bool:
        """Whether it is a user message, which begins a round."""
        return self.refs[0].role == "user"

    @property
    def dialogue_count(self) -> int:
        """How many of its messages count where a setting counts messages: system messages do not."""
        return sum(ref.role not in SYSTEM_ROLES for ref in self.refs)

    @property
    def seqs(self) -> tuple[int, ...]:
        """Its messages."""
        return tuple(ref.seq for ref in self.refs)

    @property
    def first_seq(self) -> int:
        """Its first message."""
        return self.refs[0].seq

    @property
    def last_seq(self) -> int:
        """Its last message."""
        return self.refs[-1].seq


@dataclass(frozen=True)
class Conversation:
    """One thread of a session and its latest summary.

    Of what the summary covers, `messages` may tell as much or as little as it likes; all else must be there, and the
    first user message.
    """

    thread: str
    messages: tuple[MessageRef, ...] = ()
    """In sequence."""
    summary: SummaryRef | None = None
    keeps_first_request: bool = True
    """Whether the first user message stays verbatim."""
    omitted: tuple[int, int] | None = None
    """Messages, first and last, of which only those are told that always stay: what is newer leaves them no room."""

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """What the summary does not cover, in sequence."""
        first = next((index for index, ref in enumerate(self.messages) if ref.role == "user"), -1)
        opening = first if self.keeps_first_request else -1
        found = (Group(self.messages[span.start : span.stop], opening in span) for span in group(self.messages))
        return tuple(one for one in found if one.fixed or not self._covers(one))

    @cached_property
    def first_request(self) -> int:
        """Index of the group with the first user message that is told; 0 if none is."""
        found = (index for index, one in enumerate(self.groups) if any(ref.role == "user" for ref in one.refs))
        return next(found, 0)

    @cached_property
    def included_from(self) -> int:
        """Index of the first group behind what is untold."""
        return 0 if self.omitted is None else sum(one.first_seq <= self.omitted[1] for one in self.groups)

    @cached_property
    def settled(self) -> int:
        """How many groups no later message can join: all before a call that waits for its result.

        A call waits in vain once an assistant has spoken after it.
        """
        for index in reversed(range(len(self.groups))):
            if any(ref.role == "assistant" for ref in self.groups[index].refs):
                return index if self.groups[index].waits else len(self.groups)
        return len(self.groups)

    @cached_property
    def tokens(self) -> int:
        """Of the summary and of everything that it does not cover."""
        return total(self.groups) + (self.summary.tokens if self.summary else 0)

    @cached_property
    def count(self) -> int:
        """Messages that the summary does not cover."""
        return sum(len(one.refs) for one in self.groups)

    @cached_property
    def dialogue_count(self) -> int:
        """Of them those that count where a setting counts messages."""
        return sum(one.dialogue_count for one in self.groups)

    def primers(self, primers_count: int, begin: int = 0) -> int:
        """How many groups stand before everything that a summary covers or may cover.

        None where something else stands before the first user message: a window that was cut begins with that one.

        Args:
            primers_count: messages at least, where nothing is covered yet.
            begin: the group that is the first to count.
        """
        if self.summary is not None:
            return sum(one.first_seq <= self.summary.last_seq for one in self.groups)
        if any(not one.fixed for one in self.groups[begin : self.first_request]):
            return begin
        return begin + leading(self.groups[begin : self.included_from or None], primers_count)

    def _covers(self, one: Group) -> bool:
        summary = self.summary
        if summary is None or any(ref.passed_over for ref in one.refs):
            return False
        return summary.first_seq <= one.first_seq and one.last_seq <= summary.last_seq


def total(groups: Iterable[Group]) -> int:
    """Tokens of all messages."""
    return sum(one.tokens for one in groups)


def leading(groups: Sequence[Group], messages: int) -> int:
    """How many groups it takes to hold the first so many messages."""
    held = 0
    for count, one in enumerate(groups):
        if held >= messages:
            return count
        held += one.dialogue_count
    return len(groups)
