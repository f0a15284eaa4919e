"""Invariants of windows, checked independently of the engine: tokens are recounted and messages compared."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from purser.benchmarks.data import Row
from purser.context.conversation.messages import SYSTEM_ROLES, Message, group
from purser.context.tokens import PER_CONVERSATION, count_request
from purser.context.windows import Window

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

    @property
    def groups(self) -> list[range]:
        """Index ranges of messages that belong together."""
        return group(self.messages)

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

    def least(self) -> int:
        """Tokens of the required groups."""
        return PER_CONVERSATION + sum(self.counts[at] for index in self.required_groups() for at in self.groups[index])

    def _open(self) -> int:
        """Index of the last assistant's group if one of its calls has no result, else the number of groups."""
        speaking = [index for index, span in enumerate(self.groups) if self._has_assistant(span)]
        if not speaking:
            return len(self.groups)
        return speaking[-1] if self._is_open(self.groups[speaking[-1]]) else len(self.groups)

    def _is_open(self, span: range) -> bool:
        held = [self.messages[at] for at in span]
        called = {identifier for one in held for identifier in one.call_ids}
        return bool(called - {one.tool_call_id for one in held})

    def _is_dialogue(self, index: int) -> bool:
        return self.messages[index].role not in SYSTEM_ROLES

    def _has_assistant(self, span: range) -> bool:
        return any(self.messages[at].role == "assistant" for at in span)


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
        if index is not None and index not in in_part and message != case.messages[index]:
            yield "changed message"
    if verbatim != sorted(verbatim):
        yield "wrong order"
    yield from _pairs(case, shown)
    if any(not shown >= set(case.groups[index]) for index in case.required_groups()):
        yield "required group missing"
    if len(verbatim) < len(case.messages):
        yield from _first_role(case, window)
        if maximal:
            yield from _not_maximal(case, window, shown)


def _pairs(case: Case, shown: set[int]) -> Iterator[str]:
    for span in case.groups:
        if 0 < len(shown & set(span)) < len(span):
            yield "broken pair"


def _first_role(case: Case, window: Window) -> Iterator[str]:
    """Required messages may begin a window; so may any message where users speak only within tool calls."""
    fixed = {at for index in case.required_groups() for at in case.groups[index]}
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
    out = [span for span in groups[first:] if span.start not in shown]
    if out and window.tokens + sum(case.counts[at] for at in out[-1]) <= case.budget:
        yield "not maximal"
