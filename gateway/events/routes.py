"""`/v1/events`: what happens, as server-sent events that a client continues from where it left."""

import json
from collections.abc import AsyncIterator
from contextlib import AbstractContextManager
from typing import Annotated, Any

import structlog
from fastapi import APIRouter, Header, Query
from sse_starlette.event import ServerSentEvent
from sse_starlette.sse import EventSourceResponse, SendTimeoutError
from starlette.types import Receive, Send
from starlette.types import Scope as Connection

from purser.budget.errors import LedgerUnavailable
from purser.budget.postgres.events.events import Event, EventKind
from purser.budget.scopes import Scope
from purser.gateway.access.auth import WorkReader, check_tenant
from purser.gateway.access.roles import Permission, Principal
from purser.gateway.errors import Forbidden
from purser.gateway.events.feed import Feed, Subscription
from purser.gateway.http.routing import Route
from purser.gateway.services import Use

router = APIRouter(route_class=Route, prefix="/v1/events", tags=["events"])

HEARTBEAT_S = 10
"""Between two comments that show that the stream is alive; each asks for the key again, as sending always does."""
SEND_TIMEOUT_S = 30
"""A client that takes nothing for so long is cut off; it continues where it left when it comes back."""
RETRY_MS = 2_000
WORK = frozenset({EventKind.COMPRESSION, EventKind.TASK, EventKind.AGENT, EventKind.TURN})
"""What a key sees that looks at work only; budgets and approvals are for those that may read them."""

Position = Annotated[
    int | None, Query(ge=0, le=2**63 - 1, description="Continue behind this event id; 0: from the oldest.")
]
LastEventId = Annotated[
    str | None,
    Header(alias="Last-Event-ID", pattern="^[0-9]{1,18}$", description="As `after`; goes before it."),
]

log = structlog.get_logger(__name__)


class EventStream(EventSourceResponse):
    """Server-sent events to one client, until it leaves, takes nothing any more, or the gateway stops."""

    def __init__(self, content: AsyncIterator[ServerSentEvent | bytes], place: AbstractContextManager[None]) -> None:
        super().__init__(
            content,
            ping=HEARTBEAT_S,
            ping_message_factory=lambda: ServerSentEvent(comment="alive"),
            sep="\n",
            send_timeout=SEND_TIMEOUT_S,
        )
        self._place = place

    async def __call__(self, scope: Connection, receive: Receive, send: Send) -> None:
        try:
            with self._place:
                await super().__call__(scope, receive, send)
        except SendTimeoutError:
            log.info("a stream was cut off: its client took nothing", seconds=SEND_TIMEOUT_S)


STREAM: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The stream.",
        "content": {
            "text/event-stream": {
                "schema": {"type": "string"},
                "example": 'id: 42\nevent: threshold\ndata: {"at": "2026-11-20T12:00:00+00:00", "scope": "session:s1", '
                '"data": {"threshold": 0.8, "mode": "soft"}}\n\n',
            }
        },
    }
}


@router.get("", status_code=200, response_class=EventStream, responses=STREAM)
async def follow(
    caller: WorkReader,
    use: Use,
    kind: Annotated[list[EventKind] | None, Query(max_length=20, description="Only these; repeatable.")] = None,
    scope: Annotated[
        list[str] | None,
        Query(max_length=50, description="Only of these; repeatable. A task stands for its agents too."),
    ] = None,
    after: Position = None,
    last_event_id: LastEventId = None,
) -> EventStream:
    """Events as they happen: budgets, approvals, compressions, progress of tasks. Without an id: from now on.

    `id` is the position to continue from, `event` the kind, `data` JSON with `at`, `scope` and `data`. An event `gap`
    comes first where a client cannot continue from exactly where it left. A key of role `agent` sees the kinds
    `compression`, `task`, `agent` and `turn`.
    """
    scopes = None if scope is None else [Scope.parse(one) for one in scope]
    check_tenant(caller, *(scopes or ()))
    kinds = _kinds(caller, kind)
    start = after if last_event_id is None else int(last_event_id)

    async def stream() -> AsyncIterator[ServerSentEvent | bytes]:
        yield ServerSentEvent(retry=RETRY_MS, comment="purser")
        try:
            async with use.feed.subscribe(caller.tenant, kinds, start, scopes=scopes) as events:
                async for line in _lines(events, use.feed):
                    yield line
        except LedgerUnavailable:
            yield ServerSentEvent(comment="the ledger does not answer: come back")

    return EventStream(stream(), use.limits.stream(caller))


async def _lines(events: Subscription, feed: Feed) -> AsyncIterator[ServerSentEvent | bytes]:
    if events.gap is not None:
        yield ServerSentEvent(event="gap", data=json.dumps({"reason": events.gap}))
    async for event in events:
        yield feed.encoded(event, _encode)
    yield ServerSentEvent(comment="the gateway stops: come back")


def _encode(event: Event) -> bytes:
    data = json.dumps({"at": event.at.isoformat(), "scope": event.scope, "data": event.data})
    return ServerSentEvent(id=str(event.position), event=event.kind, data=data, sep="\n").encode()


def _kinds(caller: Principal, asked: list[EventKind] | None) -> list[EventKind] | None:
    if caller.may(Permission.READ):
        return asked
    if asked is None:
        return sorted(WORK)
    if hidden := [kind for kind in asked if kind not in WORK]:
        raise Forbidden(f"role {str(caller.role)!r} may not follow {', '.join(hidden)}: use a key of viewer")
    return asked
