"""Responses of `/v1/sessions`, `/v1/users` and `/v1/retention`."""

from datetime import date, datetime
from typing import Any, Self

from purser.context.conversation.pins import Pin
from purser.context.conversation.preferences import Preferences
from purser.context.conversation.retention import RetentionPolicy, Tombstone
from purser.context.facts import Fact
from purser.context.postgres.conversation.conversations import Listed
from purser.context.postgres.conversation.summaries import StoredSummary
from purser.context.retrieval import Found
from purser.wire.base import View


class AppendedView(View):
    """The result of an append."""

    session_id: str
    seqs: list[int]
    """Sequence numbers of the messages, in order."""
    tokens: int
    """Tokens of the messages, by the tokenizer of `model`."""
    warnings: list[str]
    """Messages that were stored nevertheless: tool results that answer no call of this conversation."""


class ToolCallView(View):
    """A tool call of a stored reply."""

    name: str
    """Name by which the model called the tool."""
    call_id: str
    """The id that the model gave the call."""
    arguments: dict[str, Any] | None
    """`null` if the model wrote something other than a JSON object."""


class ToolResultView(View):
    """The stored result of a tool call."""

    seq: int
    """Sequence number of the message with the result."""


class MessageView(View):
    """A stored message."""

    seq: int
    thread: str
    """Empty for the session's own conversation, else `{task_id}/{agent_id}`."""
    message: dict[str, Any]
    """The message as it was appended."""
    tokens: int
    created_at: datetime
    """When it was written: as the message says, else the time of its append."""
    pinned: bool
    """Whether it is pinned now."""

    @classmethod
    def of(cls, listed: Listed, tokens: int) -> Self:
        stored = listed.stored
        return cls(
            seq=stored.seq,
            thread=stored.thread,
            message=stored.message.to_dict(),
            tokens=tokens,
            created_at=listed.created_at,
            pinned=listed.pinned,
        )


class MessagesView(View):
    """A page of messages."""

    messages: list[MessageView]
    next: int | None
    """Pass it as `after` for the next page; `null` at the end."""


class PinView(View):
    """A pinned message."""

    seq: int
    author: str
    """Name of the key that pinned it; empty if it was pinned when it was imported."""
    reason: str | None
    pinned_at: datetime
    until: datetime | None

    @classmethod
    def of(cls, pin: Pin) -> Self:
        return cls(**{name: getattr(pin, name) for name in PinView.model_fields})


class PinsView(View):
    """Active pins of a session."""

    pins: list[PinView]
    tokens: int
    """Tokens of the pinned messages, including their tool calls and results."""
    budget: int
    """Most tokens of pinned messages."""


class UnpinnedView(View):
    """A message without a pin."""

    seq: int
    pinned: bool = False


class SettingsView(View):
    """Personal settings of a user or of one session."""

    fields: dict[str, Any]
    version: int
    """Number of changes; 0 if there was none."""
    changed_by: str | None
    changed_at: datetime | None

    @classmethod
    def of(cls, settings: Preferences) -> Self:
        return cls(**{name: getattr(settings, name) for name in SettingsView.model_fields})


class RetentionView(View):
    """How long the tenant's sessions are kept."""

    days: int | None
    version: int
    changed_by: str | None
    changed_at: datetime | None

    @classmethod
    def of(cls, policy: RetentionPolicy) -> Self:
        return cls(**{name: getattr(policy, name) for name in RetentionView.model_fields})


class TombstoneView(View):
    """The record that remains of a deleted session."""

    session_id: str
    user_id: str | None
    messages: int
    tokens: int
    summaries: int
    pins: int
    created_at: datetime
    active_on: date
    """Day of the last append."""
    deleted_by: str
    reason: str
    """`request` or `retention`."""
    deleted_at: datetime

    @classmethod
    def of(cls, left: Tombstone) -> Self:
        return cls(**{name: getattr(left, name) for name in TombstoneView.model_fields})


class DroppedView(View):
    """A message that a window does not contain."""

    index: int
    """Index in the conversation, from 0."""
    seq: int
    reason: str


class OmittedView(View):
    """Older messages that were not read to build a window; required ones among them are in the window."""

    indexes: tuple[int, int]
    """First and last index in the conversation."""
    reason: str


class WindowView(View):
    """The window of a call."""

    messages: list[dict[str, Any]]
    """Messages as stored, except those that are clipped or added."""
    seqs: list[int | None]
    """Sequence number of each message; `null` for an added one."""
    indexes: list[int | None]
    """Index of each message in the conversation, from 0; `null` for an added one."""
    tokens: int
    dropped: list[DroppedView]
    omitted: list[OmittedView]
    """Ranges of older messages of a long conversation, which are dropped too."""
    summarised: list[list[int]]
    """Ranges of indexes that a summary covers, first and last."""
    summary_version: int
    """Version of the stored summary in the window; 0 if there is none."""
    strategy: str
    reason: str
    stats: dict[str, Any]
    text: str | None = None
    """With `format=text`: the history as plain text, to which `tokens` then refers."""


class CompressedView(View):
    """A new version of a summary, or why there is none."""

    version: int
    """0 if nothing was stored."""
    summary: str | None
    covers: list[int] | None
    """First and last sequence number."""
    original_tokens: int
    summary_tokens: int
    method: str | None
    """`extractive` or `model`."""
    reason: str | None
    """Why nothing was stored: `nothing_to_cover`, `no_gain`, `busy`."""


class SummaryView(View):
    """One version of a summary."""

    version: int
    thread: str
    covers: list[int]
    """First and last sequence number."""
    text: str
    tokens_before: int
    tokens_after: int
    method: str
    model: str | None
    prompt_version: str | None
    language: str | None
    fidelity: float | None
    trigger: str
    created_at: datetime

    @classmethod
    def of(cls, stored: StoredSummary) -> Self:
        summary = stored.summary
        taken = ("version", "text", "tokens_before", "tokens_after", "model", "prompt_version", "language", "fidelity")
        return cls(
            **{name: getattr(summary, name) for name in taken},
            thread=stored.thread,
            covers=[summary.first_seq, summary.last_seq],
            method=summary.method,
            trigger=summary.trigger,
            created_at=stored.created_at,
        )


class SummariesView(View):
    """Versions of summaries, oldest first."""

    summaries: list[SummaryView]


class FactView(View):
    """One statement, verbatim."""

    seq: int
    kind: str
    subject: str
    relation: str
    value: str
    text: str
    speaker: str
    superseded_by: int | None
    created_at: datetime
    """When its message was written."""

    @classmethod
    def of(cls, fact: Fact, created_at: datetime) -> Self:
        taken = {name: getattr(fact, name) for name in FactView.model_fields if name != "created_at"}
        return cls(**taken, created_at=created_at)


class FactsView(View):
    """The facts of a conversation, and the fact sheet in a window."""

    facts: list[FactView]
    """In sequence, including superseded ones."""
    sheet: str
    """The fact sheet, which accompanies the summary."""
    overflow: list[FactView]
    """Current facts that do not fit on the sheet."""


class ExplanationView(View):
    """Where a message is now, and why."""

    seq: int
    state: str
    """`verbatim`, `pinned`, `summary`, `clipped` or `dropped`."""
    states: list[str]
    """The same, followed by `fact` if a fact was extracted from it."""
    reason: str
    version: int | None
    """Version of the stored summary that covers it."""
    facts: list[FactView]


class SearchHitView(View):
    """A message that a search found."""

    session_id: str
    seq: int
    thread: str
    role: str
    name: str | None
    text: str
    created_at: datetime
    score: float
    via: str
    """`lexical`, `vector` or `both`."""

    @classmethod
    def of(cls, found: Found) -> Self:
        return cls(**{name: getattr(found, name) for name in SearchHitView.model_fields})


class SearchResultsView(View):
    """Results of a search, in time order."""

    found: list[SearchHitView]
    pending: int
    """New messages of the searched sessions that are not searched yet; above 0 only after large imports."""
