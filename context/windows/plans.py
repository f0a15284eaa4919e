"""Window plans: the content of a model call as sequence numbers, versions and counts, never text."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

from purser.context.conversation.conversations import SummaryRef
from purser.context.tokens import PER_CONVERSATION
from purser.context.windows.trimming import DOCUMENTS, Remedy, Trim
from purser.wire.enums import StrategyName


@dataclass(frozen=True, slots=True)
class TextRef:
    """A message shown separately: the task's input, or the reply of another agent."""

    seq: int
    tokens: int
    agent_id: str = ""
    """Agent that replied; empty for the input."""


@dataclass(frozen=True, slots=True)
class PersonalRef:
    """Reference to personal settings, which are shown first."""

    versions: tuple[int, int]
    """Versions of the stored settings of user and session."""
    tokens: int
    """Tokens of the message that shows them."""


@dataclass(frozen=True, slots=True)
class MemoryRef:
    """Reference to the message with search results and documents, shown before the newest user message."""

    found: tuple[tuple[str, int], ...]
    """Session and sequence number of each message found, best first."""
    tokens: int
    """Tokens of the message that shows them."""
    documents_tokens: int = 0
    """Tokens of the message with the documents alone, which are required."""
    most_tokens: int = 0
    """Upper bound of the rows with the messages found; rendering selects by it the same rows again."""

    @property
    def documents(self) -> "MemoryRef | None":
        """The documents alone, if there are any."""
        return MemoryRef((), self.documents_tokens, self.documents_tokens) if self.documents_tokens else None


@dataclass(frozen=True, slots=True)
class Dropped:
    """Messages of a thread, from `first_seq` to `last_seq`, that the window does not show."""

    first_seq: int
    last_seq: int
    reason: str


@dataclass(frozen=True, slots=True)
class View:
    """The part of one conversation that a window shows."""

    thread: str
    seqs: tuple[int, ...] = ()
    """Verbatim messages, in sequence. They stay verbatim even inside a covered or dropped range."""
    summary: SummaryRef | None = None
    """The summary shown, whose range is covered."""
    dropped: tuple[Dropped, ...] = ()
    tokens: int = 0
    """Tokens of summary and messages."""
    repaired: tuple[int, ...] = ()
    """Messages that `purser.context.windows.linking` adds to: calls without results, results without calls, and those
    below a line."""
    lines: tuple[tuple[int, str], ...] = ()
    """Lines above messages that say whose they are, by sequence number; never text of the conversation."""


@dataclass(frozen=True, slots=True)
class WindowPlan:
    """A window by reference: sequence numbers and counts, no text."""

    budget: int
    """Context budget to which trigger and target ratios apply: the tokens that history may fill, limited by the
    agent's remaining budget."""
    system_tokens: int
    """Tokens of instructions and tool definitions."""
    session: View
    replies: tuple[TextRef, ...]
    question: TextRef
    own: View
    dropped_replies: tuple[TextRef, ...] = ()
    """Replies that did not fit: in plans of earlier releases, which did not clip them."""
    compress: str | None = None
    """The thread whose compression frees most tokens; `None` below the trigger; empty for the session's own."""
    strategy: StrategyName = StrategyName.THREE_PART
    """Strategy by which it was cut, if it was."""
    personal: PersonalRef | None = None
    memory: MemoryRef | None = None
    trims: tuple[Trim, ...] = ()
    """Remedies for messages that are too large, also for those that do not fit even so."""
    whole_tokens: int = 0
    """Tokens of a window that leaves nothing out, without instructions and tools."""
    strategy_reason: str = ""
    """Why `auto` chose the strategy; empty if it was set."""
    recall: bool = False
    """Whether the call offers the tool that reads messages back; its tokens are among `system_tokens`."""
    closing: str = ""
    """A message to the model after all others, never text of a conversation; its tokens are among `system_tokens`."""

    @property
    def in_part(self) -> tuple[Trim, ...]:
        """Messages that are shown in part."""
        shown = {DOCUMENTS, *self.session.seqs, *self.own.seqs, *(reply.seq for reply in self.replies)}
        return tuple(trim for trim in self.trims if trim.seq in shown)

    @property
    def left_out(self) -> bool:
        """Whether some message is not shown, or shown in part."""
        views = (self.session, self.own)
        return bool(self.in_part or self.dropped_replies or any(view.summary or view.dropped for view in views))

    @property
    def tokens(self) -> int:
        """Tokens of everything but instructions and tools."""
        shown = (self.session, *self.replies, self.question, self.own, self.personal, self.memory)
        return PER_CONVERSATION + sum(one.tokens for one in shown if one is not None)

    @property
    def prompt_tokens(self) -> int:
        """Input tokens of the call."""
        return self.system_tokens + self.tokens

    @property
    def seqs(self) -> tuple[int, ...]:
        """Sequence numbers of every message that rendering needs."""
        single = (self.question, *self.replies)
        return tuple(sorted({*self.session.seqs, *self.own.seqs, *(text.seq for text in single)}))

    @property
    def versions(self) -> dict[str, int]:
        """Version by thread of every summary that rendering needs."""
        return {view.thread: view.summary.version for view in (self.session, self.own) if view.summary}

    def to_json(self) -> dict[str, Any]:
        """The plan as a JSON object."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """The inverse of `to_json`."""
        return cls(
            budget=value["budget"],
            system_tokens=value["system_tokens"],
            session=_view(value["session"]),
            replies=tuple(TextRef(**reply) for reply in value["replies"]),
            question=TextRef(**value["question"]),
            own=_view(value["own"]),
            dropped_replies=tuple(TextRef(**reply) for reply in value["dropped_replies"]),
            compress=value["compress"],
            # Plans of earlier releases lack the following fields.
            strategy=StrategyName(value.get("strategy", StrategyName.THREE_PART)),
            personal=_personal(value["personal"]) if value.get("personal") else None,
            memory=_memory(value["memory"]) if value.get("memory") else None,
            trims=tuple(_trim(one) for one in value.get("trims", ())),
            whole_tokens=value.get("whole_tokens", 0),
            strategy_reason=value.get("strategy_reason", ""),
            recall=value.get("recall", False),
            closing=value.get("closing", ""),
        )


def _personal(value: Mapping[str, Any]) -> PersonalRef:
    user, session = value["versions"]
    return PersonalRef((user, session), value["tokens"])


def _memory(value: Mapping[str, Any]) -> MemoryRef:
    found = tuple((session_id, seq) for session_id, seq in value["found"])
    return MemoryRef(found, value["tokens"], value["documents_tokens"], value["most_tokens"])


def _trim(value: Mapping[str, Any]) -> Trim:
    return Trim(**{**value, "remedy": Remedy(value["remedy"])})


def _view(value: Mapping[str, Any]) -> View:
    return View(
        thread=value["thread"],
        seqs=tuple(value["seqs"]),
        summary=SummaryRef(**value["summary"]) if value["summary"] else None,
        dropped=tuple(Dropped(**one) for one in value["dropped"]),
        tokens=value["tokens"],
        repaired=tuple(value.get("repaired", ())),
        lines=tuple((seq, line) for seq, line in value.get("lines", ())),
    )
