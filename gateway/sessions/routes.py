"""`/v1/sessions`: messages, pins and personal settings of a conversation, and its deletion."""

import uuid
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import APIRouter, Body, Header, Query, Request, Response
from fastapi.responses import StreamingResponse

from purser.activities.runtime.stores import SessionStores
from purser.budget.errors import InvalidRequest
from purser.context.conversation.json_lines import write_line
from purser.context.conversation.messages import Message
from purser.gateway.access.auth import SessionDeleter, SessionWriter, WorkReader
from purser.gateway.http.bodies import run_off_loop
from purser.gateway.http.middleware import JSON, JSON_LINES
from purser.gateway.http.pagination import PageSize
from purser.gateway.http.routing import Route, size_of
from purser.gateway.services import Use
from purser.gateway.sessions.reads import AT_A_TIME
from purser.gateway.sessions.resolved import context_view
from purser.gateway.sessions.schemas import AppendBody, Fields, Model, Seq, SessionId, Thread, read_append, unanswering
from purser.gateway.sessions.views import message_view
from purser.wire.fields import Name
from purser.wire.limits import USUAL_MODEL
from purser.wire.sessions import (
    AppendedView,
    MessagesView,
    PinBody,
    PinsView,
    PinView,
    SettingsView,
    TombstoneView,
    UnpinnedView,
)
from purser.wire.windows import ContextView

router = APIRouter(route_class=Route, prefix="/v1/sessions/{session_id}", tags=["sessions"])

EXPORT_PAGE = 500
_APPEND = {
    "requestBody": {
        "required": True,
        "content": {
            JSON: {
                "schema": {"anyOf": [AppendBody.model_json_schema(), {"type": "array", "items": {"type": "object"}}]}
            },
            JSON_LINES[0]: {"schema": {"type": "string", "description": "One message per line."}},
        },
    }
}


@router.post("/messages", openapi_extra=_APPEND)
async def append(
    caller: SessionWriter,
    use: Use,
    session_id: SessionId,
    body: Annotated[Any, Body()],
    request: Request,
    idempotency_key: Annotated[Name | None, Header()] = None,
    model: Model = USUAL_MODEL,
) -> AppendedView:
    """Appends messages to a session, all or none; the first append creates the session.

    The body is an object, a bare array of messages, or JSON lines. Repeating it with the same key adds nothing.
    """
    read, messages = await run_off_loop(size_of(request), read_append, body)
    if read.key and idempotency_key and read.key != idempotency_key:
        raise InvalidRequest("key differs from the header Idempotency-Key: send one of them")
    key = read.key or idempotency_key
    store = use.sessions.conversations
    seqs = await store.append(
        caller.tenant,
        session_id,
        messages,
        origin=f"http:{key}" if key else f"once:{uuid.uuid4()}",
        model=model,
        user_id=read.user_id,
        author=caller.name,
    )
    if read.user_id:
        use.payers.forget(caller.tenant, session_id)
    counts = await store.tokens(caller.tenant, session_id, seqs, model=model)
    use.compressions.appended(caller.tenant, session_id, model, caller.tags)
    warnings = await _warnings(use.sessions, caller.tenant, session_id, messages, seqs)
    return AppendedView(session_id=session_id, seqs=seqs, tokens=sum(counts.values()), warnings=warnings)


@router.get(
    "/messages",
    response_model=MessagesView,
    responses={200: {"content": {JSON_LINES[0]: {}}}},
    dependencies=[AT_A_TIME],
)
async def list_messages(
    caller: WorkReader,
    use: Use,
    session_id: SessionId,
    accept: Annotated[str, Header()] = JSON,
    after: Annotated[int, Query(ge=0, le=2**53 - 1, description="Return messages after this number.")] = 0,
    limit: PageSize = 100,
    thread: Annotated[Thread | None, Query()] = None,
    model: Model = USUAL_MODEL,
) -> MessagesView | Response:
    """Lists messages in sequence, of all threads unless one is named.

    With `Accept: application/jsonl` returns the whole conversation (the session's own, unless a thread is named), one
    message per line, in a form that can be imported again.
    """
    await use.sessions.sessions.get(caller.tenant, session_id)
    if any(media_type in accept for media_type in JSON_LINES):
        lines = _lines(use.sessions, caller.tenant, session_id, thread or "", after)
        return StreamingResponse(lines, media_type=JSON_LINES[0])
    store = use.sessions.conversations
    page = await store.page(caller.tenant, session_id, thread=thread, after=after, limit=limit)
    seqs = [one.stored.seq for one in page]
    counts = await store.tokens(caller.tenant, session_id, seqs, model=model)
    return MessagesView(
        messages=[message_view(one, counts[one.stored.seq]) for one in page],
        next=seqs[-1] if len(page) == limit else None,
    )


@router.get("/pins")
async def list_pins(caller: WorkReader, use: Use, session_id: SessionId) -> PinsView:
    """Lists the active pins, and how much of their budget they use."""
    await use.sessions.sessions.get(caller.tenant, session_id)
    pins = use.sessions.pins
    live = await pins.live(caller.tenant, session_id)
    tokens = await pins.tokens(caller.tenant, session_id)
    return PinsView(pins=[PinView.model_validate(pin) for pin in live], tokens=tokens, budget=pins.budget)


@router.put("/pins/{seq}")
async def pin(caller: SessionWriter, use: Use, session_id: SessionId, seq: Seq, body: PinBody | None = None) -> PinView:
    """Pins a message: every window contains it verbatim, with its tool calls and results, until the pin ends."""
    wanted = body or PinBody()
    if wanted.until is not None and wanted.until <= datetime.now(UTC):
        raise InvalidRequest("until is in the past: name a later time, or leave it out")
    made = await use.sessions.pins.pin(
        caller.tenant, session_id, seq, author=caller, reason=wanted.reason, until=wanted.until
    )
    return PinView.model_validate(made)


@router.delete("/pins/{seq}")
async def unpin(caller: SessionWriter, use: Use, session_id: SessionId, seq: Seq) -> UnpinnedView:
    """Ends a pin. Ending it again has no effect."""
    await use.sessions.pins.unpin(caller.tenant, session_id, seq, by=caller)
    return UnpinnedView(seq=seq)


@router.get("/settings")
async def show_settings(caller: WorkReader, use: Use, session_id: SessionId) -> SettingsView:
    """Returns the personal settings of this session, without those of its user."""
    await use.sessions.sessions.get(caller.tenant, session_id)
    return SettingsView.model_validate(await use.sessions.settings.of_session(caller.tenant, session_id))


@router.put("/settings")
async def set_settings(caller: SessionWriter, use: Use, session_id: SessionId, body: Fields) -> SettingsView:
    """Replaces the personal settings of this session, which override those of its user.

    Any fields with any values are allowed; `null` or an empty string disables a field of the user.
    """
    made = await use.sessions.settings.set_for_session(caller.tenant, session_id, body, by=caller)
    return SettingsView.model_validate(made)


@router.get("/context")
async def show_context(caller: WorkReader, use: Use, session_id: SessionId) -> ContextView:
    """Returns the settings of this session's windows, and where each comes from. A task may override them."""
    await use.sessions.sessions.get(caller.tenant, session_id)
    personal = await use.sessions.settings.personal(caller.tenant, session_id)
    return context_view(personal.resolved(use.context))


@router.delete("")
async def delete(caller: SessionDeleter, use: Use, session_id: SessionId) -> TombstoneView:
    """Deletes all text of a session; figures remain. Refused while a task or a compression of it is running.

    The id cannot be used again; deleting it again returns the same answer.
    """
    return TombstoneView.model_validate(await use.sessions.retention.delete(caller.tenant, session_id, by=caller))


async def _lines(use: SessionStores, tenant: str, session_id: str, thread: str, after: int) -> AsyncIterator[str]:
    while page := await use.conversations.page(tenant, session_id, thread=thread, after=after, limit=EXPORT_PAGE):
        for one in page:
            yield write_line(replace(one.stored.message, pinned=one.pinned, created_at=one.stored.created_at))
        after = page[-1].stored.seq


async def _warnings(
    use: SessionStores, tenant: str, session_id: str, messages: list[Message], seqs: list[int]
) -> list[str]:
    """Warnings about tool results without a call: they are stored, but no provider accepts them."""
    if not (loose := unanswering(messages)):
        return []
    called = await use.conversations.called(tenant, session_id, "", set(loose.values()), before=seqs[0])
    return [
        f"message {index}, field 'tool_call_id': answers no call of this conversation"
        for index, identifier in loose.items()
        if identifier not in called
    ]
