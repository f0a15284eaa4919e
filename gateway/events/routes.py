"""`/v1/events`: a resumable stream of server-sent events."""

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
"""Seconds between keep-alive comments; sending one checks the key again."""
SEND_TIMEOUT_S = 30
"""Seconds after which a client that reads nothing is disconnected; it can resume where it left off."""
RETRY_MS = 2_000
WORK = frozenset({EventKind.COMPRESSION, EventKind.TASK, EventKind.AGENT, EventKind.TURN})
"""Kinds visible to a key that may read work only, not budgets and approvals."""

Position = Annotated[
    int | None, Query(ge=0, le=2**63 - 1, description="Resume after this event id; 0: from the oldest.")
]
LastEventId = Annotated[
    str | None,
    Header(alias="Last-Event-ID", pattern="^[0-9]{1,18}$", description="As `after`; takes precedence over it."),
]

log = structlog.get_logger(__name__)


class EventStream(EventSourceResponse):
    """Server-sent events to one client, until it disconnects, stops reading, or the gateway stops."""

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
            log.info("event stream closed: the client does not read", seconds=SEND_TIMEOUT_S)


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
        Query(max_length=50, description="Only of these; repeatable. A task includes its agents."),
    ] = None,
    after: Position = None,
    last_event_id: LastEventId = None,
) -> EventStream:
    """Streams events: budgets, approvals, compressions, progress of tasks. Without an id only new events.

    `id` is the position from which to resume, `event` the kind, `data` JSON with `at`, `scope` and `data`. An event
    `gap` comes first if a client cannot resume exactly where it left off. A key of role `agent` gets the kinds
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
            yield ServerSentEvent(comment="the ledger does not answer: reconnect")

    return EventStream(stream(), use.limits.stream(caller))


async def _lines(events: Subscription, feed: Feed) -> AsyncIterator[ServerSentEvent | bytes]:
    if events.gap is not None:
        yield ServerSentEvent(event="gap", data=json.dumps({"reason": events.gap}))
    async for event in events:
        yield feed.encoded(event, _encode)
    yield ServerSentEvent(comment="the gateway is stopping: reconnect")


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
