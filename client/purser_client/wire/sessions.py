"""Bodies and answers of `/v1/sessions`, `/v1/users` and `/v1/retention`, without those of windows."""

from datetime import date, datetime
from typing import Annotated, Any

from pydantic import Field

from .base import Body, PageOf, View
from .fields import EndTime


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


class ToolResultBody(Body):
    """What a tool has found."""

    text: str
    """The model reads it. Characters that cannot be stored are replaced."""


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


class PinBody(Body):
    """Why a message is pinned, and until when."""

    reason: Annotated[str, Field(max_length=1_000)] | None = None
    until: EndTime | None = None


class SettingsView(View):
    """Personal settings of a user or of one session."""

    fields: dict[str, Any]
    version: int
    """Number of changes; 0 if there was none."""
    changed_by: str | None
    changed_at: datetime | None


class RetentionView(View):
    """How long the tenant's sessions are kept."""

    days: int | None
    version: int
    changed_by: str | None
    changed_at: datetime | None


class RetentionBody(Body):
    """How long sessions are kept."""

    days: Annotated[int, Field(ge=1, le=36_500)] | None
    """Whole days after the day of the last append; `null`: forever."""


class SessionView(View):
    """A session as listed."""

    session_id: str
    user_id: str | None
    """Its owner, once an append has named one."""
    messages: int
    created_at: datetime
    active_on: date
    """Day of the last append."""
    summaries: int
    """Number of versions."""
    saved_tokens: int
    """Tokens that its compressions removed from windows."""
    pins: int
    """Number of live pins."""


SessionPage = PageOf[SessionView]


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


class FactsView(View):
    """The facts of a conversation, and the fact sheet in a window."""

    facts: list[FactView]
    """In sequence, including superseded ones."""
    sheet: str
    """The fact sheet, which accompanies the summary."""
    overflow: list[FactView]
    """Current facts that do not fit on the sheet."""


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


class SearchResultsView(View):
    """Results of a search, in time order."""

    found: list[SearchHitView]
    pending: int
    """New messages of the searched sessions that are not searched yet; above 0 only after large imports."""
