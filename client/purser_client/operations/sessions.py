"""`/v1/sessions`, `/v1/users` and `/v1/retention`: conversations and their windows."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from purser_client.operations.arguments import given, listing, mapping, new_key, once, part
from purser_client.operations.operation import AsyncGroup, Group, Offered, Operation, checked
from purser_client.types import (
    AppendedView,
    ComparisonView,
    CompressBody,
    CompressedView,
    ContextView,
    ExplanationView,
    FactsView,
    MessagesView,
    PinBody,
    PinsView,
    PinView,
    Recommendation,
    RecommendBody,
    RetentionBody,
    RetentionView,
    SearchResultsView,
    SessionPage,
    SettingsView,
    SummariesView,
    TombstoneView,
    ToolCallView,
    ToolResultBody,
    ToolResultView,
    ToolSafety,
    ToolSafetyBody,
    UnpinnedView,
    WindowView,
)


def list_all(
    *, user_id: str | None = None, cursor: str | None = None, limit: int | None = None
) -> Operation[SessionPage]:
    """Lists sessions, also of one user, newest first."""
    query = given(user_id=user_id, cursor=cursor, limit=limit)
    return Operation("sessions_list", "GET", "/v1/sessions", SessionPage, query=query)


def append(
    session_id: str,
    messages: Sequence[Mapping[str, Any]],
    *,
    key: str | None = None,
    user_id: str | None = None,
    model: str | None = None,
) -> Operation[AppendedView]:
    """Appends messages to a session, all or none; the first append creates the session."""
    said = listing("messages", messages)
    body = {"messages": said, "key": new_key() if key is None else key} | given(user_id=user_id)
    path = f"{_of(session_id)}/messages"
    return Operation("sessions_append", "POST", path, AppendedView, body, given(model=model))


def messages(
    session_id: str,
    *,
    after: int | None = None,
    limit: int | None = None,
    thread: str | None = None,
    model: str | None = None,
) -> Operation[MessagesView]:
    """Lists messages in sequence, of all threads unless one is named."""
    query = given(after=after, limit=limit, thread=thread, model=model)
    return Operation("sessions_list_messages", "GET", f"{_of(session_id)}/messages", MessagesView, query=query)


def tool_call(session_id: str, seq: int, index: int) -> Operation[ToolCallView]:
    """Returns a tool call of a stored reply."""
    return Operation("sessions_show_tool_call", "GET", _called(session_id, seq, index), ToolCallView)


@checked
def answer_tool_call(session_id: str, seq: int, index: int, text: str) -> Operation[ToolResultView]:
    """Stores the result of a tool call. If it has one already, that one remains."""
    path = f"{_called(session_id, seq, index)}/result"
    return Operation("sessions_answer_tool_call", "PUT", path, ToolResultView, ToolResultBody(text=text))


def window(
    session_id: str,
    *,
    budget: int | None = None,
    model: str | None = None,
    strategy: str | None = None,
    preset: str | None = None,
    preference: str | None = None,
    summarizer: str | None = None,
    format: str | None = None,
    thread: str | None = None,
    **figures: Any,
) -> Operation[WindowView]:
    """Previews the window of a call within a budget; `figures` are those of the strategy, such as `recents_count`."""
    query = given(budget=budget, model=model, strategy=strategy, preset=preset, preference=preference)
    query |= given(summarizer=summarizer, format=format, thread=thread) | figures
    return Operation("sessions_window", "GET", f"{_of(session_id)}/window", WindowView, query=query)


def compare(
    session_id: str,
    budget: int,
    *,
    model: str | None = None,
    preference: str | None = None,
    thread: str | None = None,
) -> Operation[ComparisonView]:
    """Compares all strategies on a stored session."""
    query = given(budget=budget, model=model, preference=preference, thread=thread)
    return Operation("sessions_compare", "GET", f"{_of(session_id)}/window/compare", ComparisonView, query=query)


def explain(
    session_id: str,
    seq: int,
    *,
    budget: int | None = None,
    model: str | None = None,
    strategy: str | None = None,
    preset: str | None = None,
) -> Operation[ExplanationView]:
    """Says what happens to one message in a window, and why."""
    query = given(budget=budget, model=model, strategy=strategy, preset=preset)
    path = f"{_of(session_id)}/messages/{part(str(seq))}/explain"
    return Operation("sessions_explain_message", "GET", path, ExplanationView, query=query)


@checked
def compress(
    session_id: str,
    *,
    budget: int | None = None,
    model: str | None = None,
    thread: str | None = None,
    idempotency_key: str | None = None,
) -> Operation[CompressedView]:
    """Compresses a conversation and waits for the next version of its summary."""
    body = CompressBody(**given(budget=budget, model=model, thread=thread))
    path, headers = f"{_of(session_id)}/compress", once(idempotency_key)
    return Operation("sessions_compress", "POST", path, CompressedView, body, headers=headers)


def summaries(session_id: str, *, thread: str | None = None) -> Operation[SummariesView]:
    """Lists the versions of a summary."""
    query = given(thread=thread)
    return Operation("sessions_summaries", "GET", f"{_of(session_id)}/summaries", SummariesView, query=query)


def facts(session_id: str, *, model: str | None = None, thread: str | None = None) -> Operation[FactsView]:
    """Lists the facts of a conversation."""
    query = given(model=model, thread=thread)
    return Operation("sessions_facts", "GET", f"{_of(session_id)}/facts", FactsView, query=query)


def memory(
    session_id: str, q: str, *, limit: int | None = None, across: bool | None = None
) -> Operation[SearchResultsView]:
    """Searches the conversation for a question."""
    query = given(q=q, limit=limit, across=across)
    return Operation("sessions_memory", "GET", f"{_of(session_id)}/memory", SearchResultsView, query=query)


@checked
def recommend(
    session_id: str, max_tokens: int, *, preference: str | None = None, model: str | None = None
) -> Operation[Recommendation]:
    """Recommends how to fit the conversation into a limit, without changing it."""
    body = RecommendBody(max_tokens=max_tokens, **given(preference=preference, model=model))
    return Operation("sessions_recommend", "POST", f"{_of(session_id)}/recommend", Recommendation, body)


@checked
def check_tools(session_id: str, limit: int, planned_tools: int, *, model: str | None = None) -> Operation[ToolSafety]:
    """Checks whether the conversation still fits a limit after planned tool calls."""
    body = ToolSafetyBody(limit=limit, planned_tools=planned_tools, **given(model=model))
    return Operation("sessions_check_tools", "POST", f"{_of(session_id)}/tool-safety", ToolSafety, body)


def pins(session_id: str) -> Operation[PinsView]:
    """Lists the active pins, and how much of their budget they use."""
    return Operation("sessions_list_pins", "GET", f"{_of(session_id)}/pins", PinsView)


@checked
def pin(session_id: str, seq: int, *, reason: str | None = None, until: datetime | None = None) -> Operation[PinView]:
    """Pins a message: every window contains it verbatim, until the pin ends."""
    body = PinBody(**given(reason=reason, until=until))
    return Operation("sessions_pin", "PUT", f"{_of(session_id)}/pins/{part(str(seq))}", PinView, body)


def unpin(session_id: str, seq: int) -> Operation[UnpinnedView]:
    """Ends a pin."""
    return Operation("sessions_unpin", "DELETE", f"{_of(session_id)}/pins/{part(str(seq))}", UnpinnedView)


def settings(session_id: str) -> Operation[SettingsView]:
    """Returns the personal settings of this session, without those of its user."""
    return Operation("sessions_show_settings", "GET", f"{_of(session_id)}/settings", SettingsView)


def set_settings(session_id: str, fields: Mapping[str, Any]) -> Operation[SettingsView]:
    """Replaces the personal settings of this session, which override those of its user."""
    path = f"{_of(session_id)}/settings"
    return Operation("sessions_set_settings", "PUT", path, SettingsView, mapping("fields", fields))


def user_settings(user_id: str) -> Operation[SettingsView]:
    """Returns the personal settings of a user."""
    return Operation("users_show_settings", "GET", f"/v1/users/{part(user_id)}/settings", SettingsView)


def set_user_settings(user_id: str, fields: Mapping[str, Any]) -> Operation[SettingsView]:
    """Replaces the personal settings of a user."""
    path = f"/v1/users/{part(user_id)}/settings"
    return Operation("users_set_settings", "PUT", path, SettingsView, mapping("fields", fields))


def delete_user_settings(user_id: str) -> Operation[SettingsView]:
    """Deletes the personal settings of a user, with the fields of all earlier versions."""
    return Operation("users_delete_settings", "DELETE", f"/v1/users/{part(user_id)}/settings", SettingsView)


def context(session_id: str) -> Operation[ContextView]:
    """Returns the settings of this session's windows, and where each comes from."""
    return Operation("sessions_show_context", "GET", f"{_of(session_id)}/context", ContextView)


def delete(session_id: str) -> Operation[TombstoneView]:
    """Deletes all text of a session; figures remain."""
    return Operation("sessions_delete", "DELETE", _of(session_id), TombstoneView)


def retention() -> Operation[RetentionView]:
    """Returns how long the sessions of this tenant are kept."""
    return Operation("retention_show", "GET", "/v1/retention", RetentionView)


@checked
def set_retention(days: int | None) -> Operation[RetentionView]:
    """Sets for how many days after the day of their last append sessions are kept; `None`: for ever."""
    return Operation("retention_set", "PUT", "/v1/retention", RetentionView, RetentionBody(days=days))


def _of(session_id: str) -> str:
    return f"/v1/sessions/{part(session_id)}"


def _called(session_id: str, seq: int, index: int) -> str:
    return f"{_of(session_id)}/messages/{part(str(seq))}/calls/{part(str(index))}"


class _Sessions:
    list = Offered(list_all)
    append = Offered(append)
    messages = Offered(messages)
    tool_call = Offered(tool_call)
    answer_tool_call = Offered(answer_tool_call)
    window = Offered(window)
    compare = Offered(compare)
    explain = Offered(explain)
    compress = Offered(compress)
    summaries = Offered(summaries)
    facts = Offered(facts)
    memory = Offered(memory)
    recommend = Offered(recommend)
    check_tools = Offered(check_tools)
    pins = Offered(pins)
    pin = Offered(pin)
    unpin = Offered(unpin)
    settings = Offered(settings)
    set_settings = Offered(set_settings)
    user_settings = Offered(user_settings)
    set_user_settings = Offered(set_user_settings)
    delete_user_settings = Offered(delete_user_settings)
    context = Offered(context)
    delete = Offered(delete)
    retention = Offered(retention)
    set_retention = Offered(set_retention)


class Sessions(_Sessions, Group):
    """Conversations and their windows."""


class AsyncSessions(_Sessions, AsyncGroup):
    """Conversations and their windows, to be awaited."""
