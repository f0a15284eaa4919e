"""Invariants of windows, checked independently of the engine: tokens are recounted and messages compared."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from purser.benchmarks.data import Row
from purser.context.conversation.messages import SYSTEM_ROLES, Message, group
from purser.context.tokens import PER_CONVERSATION, PER_MESSAGE, count_request, count_text
from purser.context.windows import Window
from purser.context.windows.linking import LATE_RESULT, NO_RESULT

_FIELDS = ("role", "content", "name", "tool_calls", "tool_call_id")


def messages_of(row: Row) -> list[Message]:
    """The messages of a conversation, without the additional fields of its data set."""
    return [
        Message.parse({name: raw.get(name) for name in _FIELDS}, index, linked=False)
        for index, raw in enumerate(row["messages"])
    ]


@dataclass(frozen=True)
class Case:
    """A conversation and the requested window."""

    messages: Sequence[Message]
    counts: Sequence[int]
    """Tokens of each message."""
    budget: int
    model: str
    keeps_first_request: bool = True

    @cached_property
    def groups(self) -> list[range]:
        """Index ranges of messages that belong together."""
        return group(self.messages)

    @cached_property
    def required_groups(self) -> set[int]:
        """Indexes of the groups that every window holds: those with a system message or a pin, the first and the newest
        user message, the last step, an open call of the last assistant with all that follows, and the user message
        that precedes the first of these."""
        users = [index for index, message in enumerate(self.messages) if message.role == "user"]
        required = {*(users[:1] if self.keeps_first_request else ()), *users[-1:], len(self.messages) - 1}
        found = set(range(self._open(), len(self.groups)))
        for index, span in enumerate(self.groups):
            held = [self.messages[at] for at in span]
            if any(one.pinned or one.role in SYSTEM_ROLES for one in held) or required & set(span):
                found.add(index)
        first = min((at for index in found for at in self.groups[index] if self._is_dialogue(at)), default=-1)
        requests = [index for index, span in enumerate(self.groups) if self.messages[span.start].role == "user"]
        return found | set([index for index in requests if self.groups[index].start <= first][-1:])

    def whole(self) -> int:
        """Tokens of all groups."""
        return PER_CONVERSATION + sum(map(self.size, range(len(self.groups))))

    def least(self) -> int:
        """Tokens of the required groups."""
        return PER_CONVERSATION + sum(map(self.size, self.required_groups))

    def size(self, index: int) -> int:
        """Tokens of a group, with what a window adds for its calls without results and its results without calls."""
        own, held = sum(self.counts[at] for at in self.groups[index]), [self.messages[at] for at in self.groups[index]]
        if not self.names_calls:
            return own
        called = Counter(identifier for one in held for identifier in one.call_ids)
        answered = Counter(one.tool_call_id for one in held if one.tool_call_id is not None)
        missing = 0 if index == len(self.groups) - 1 else (called - answered).total()
        unmatched = (answered - called).total()
        no_result, late_result = self._marks
        return own + missing * (PER_MESSAGE + no_result) + unmatched * late_result

    @property
    def waits(self) -> bool:
        """Whether a call of the last group still waits for its result."""
        return self._is_open(self.groups[-1])

    @cached_property
    def names_calls(self) -> bool:
        """Whether each result names its call; logs of agents often leave that out."""
        return all(message.tool_call_id is not None for message in self.messages if message.role == "tool")

    @cached_property
    def _marks(self) -> list[int]:
        """Tokens of what a window adds for a call without a result, and for a result without a call."""
        return [count_text(mark, self.model).tokens for mark in (NO_RESULT, LATE_RESULT)]

    def _open(self) -> int:
        """Index of the first group with a call that still waits for its result; the number of groups if there is none.

        No call before the assistant's last messages in a row waits.
        """
        roles = [message.role for message in self.messages]
        last = max((at for at in range(1, len(roles)) if roles[at] == "assistant" != roles[at - 1]), default=0)
        waiting = (at for at, span in enumerate(self.groups) if span.start >= last and self._is_open(span))
        return next(waiting, len(self.groups))

    def _is_open(self, span: range) -> bool:
        held = [self.messages[at] for at in span]
        called = {identifier for one in held for identifier in one.call_ids}
        return bool(called - {one.tool_call_id for one in held})

    def _is_dialogue(self, index: int) -> bool:
        return self.messages[index].role not in SYSTEM_ROLES


def faults(case: Case, window: Window, *, maximal: bool) -> Iterator[str]:
    """Yields the name of each fault of a window; none if it is correct.

    Args:
        case: the request.
        window: the window that was built.
        maximal: whether it is a fault if the next older group would still have fitted.
    """
    verbatim = [index for index in window.indexes if index is not None]
    shown = set(verbatim)
    if count_request([message.to_openai() for message in window.messages], [], case.model).tokens != window.tokens:
        yield "wrong count"
    if window.tokens > case.budget:
        yield "over budget"
    covered = [index for first, last in window.summarised for index in range(first, last + 1)]
    if sorted([*verbatim, *covered, *(index for index, _ in window.dropped)]) != list(range(len(case.messages))):
        yield "no partition"
    in_part = {one.index for one in (*window.stats.clipped, *window.stats.cleared)}
    for message, index in zip(window.messages, window.indexes, strict=True):
        if index is not None and index not in in_part and not _is_whole(message, case.messages[index]):
            yield "changed message"
    spoken = [index for index in verbatim if case.messages[index].role != "tool"]
    if spoken != sorted(spoken):
        yield "wrong order"
    yield from _pairs(case, shown)
    if case.names_calls:
        yield from _calls(case, window)
    if any(not shown >= set(case.groups[index]) for index in case.required_groups):
        yield "required group missing"
    if len(verbatim) < len(case.messages):
        yield from _first_role(case, window)
        if maximal:
            yield from _not_maximal(case, window, shown)


def _is_whole(shown: Message, message: Message) -> bool:
    """Whether a message is shown as it is, or below a line that says that a tool returned it later."""
    return shown == message or (message.role == "tool" and shown.text == f"{LATE_RESULT}\n{message.text}")


def _calls(case: Case, window: Window) -> Iterator[str]:
    """Providers refuse a call that is not followed by its results, and a result that follows no call."""
    due: list[str] = []
    for message, index in zip(window.messages, window.indexes, strict=True):
        if index is not None and case.waits and index in case.groups[-1]:
            break
        if message.role == "tool" and message.tool_call_id in due:
            due.remove(message.tool_call_id)
        elif due or message.role == "tool":
            yield "refused by providers"
            return
        due += message.call_ids
    if due:
        yield "refused by providers"


def _pairs(case: Case, shown: set[int]) -> Iterator[str]:
    for span in case.groups:
        if 0 < len(shown & set(span)) < len(span):
            yield "broken pair"


def _first_role(case: Case, window: Window) -> Iterator[str]:
    """Required messages may begin a window; so may any message where users speak only within tool calls."""
    fixed = {at for index in case.required_groups for at in case.groups[index]}
    placed = zip(window.messages, window.indexes, strict=True)
    spoken = [(message, index) for message, index in placed if message.role not in SYSTEM_ROLES][:1]
    if not any(case.messages[span.start].role == "user" for span in case.groups):
        return
    if any(message.role != "user" and index not in fixed for message, index in spoken):
        yield "wrong first role"


def _not_maximal(case: Case, window: Window, shown: set[int]) -> Iterator[str]:
    groups = case.groups
    first = next(
        (index for index, span in enumerate(groups) if any(case.messages[at].role == "user" for at in span)), 0
    )
    out = [index for index in range(first, len(groups)) if groups[index].start not in shown]
    if out and window.tokens + case.size(out[-1]) <= case.budget:
        yield "not maximal"
