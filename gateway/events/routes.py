"""`/v1/events`: a resumable stream of server-sent events."""

import json
from collections.abc import AsyncGenerator
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query

from purser.budget.postgres.events.events import Event, EventKind
from purser.budget.scopes import Scope
from purser.gateway.access.auth import WorkReader, check_tenant
from purser.gateway.access.roles import Permission, Principal
from purser.gateway.errors import Forbidden
from purser.gateway.events.feed import Gap
from purser.gateway.events.stream import EventStream, comment, encode
from purser.gateway.http.routing import Route
from purser.gateway.services import Use
from purser.wire.events import POSITION

router = APIRouter(route_class=Route, prefix="/v1/events", tags=["events"])

RETRY_MS = 2_000
MAX_JOINED = 50
"""Events that are sent with one write, if they are available at once."""
WORK = frozenset({EventKind.COMPRESSION, EventKind.TASK, EventKind.AGENT, EventKind.TURN})
"""Kinds visible to a key that may read work only, not budgets and approvals."""

Position = Annotated[
    int | None, Query(ge=0, le=2**63 - 1, description="Resume after this event id; 0: from the oldest.")
]
LastEventId = Annotated[
    str | None,
    Header(alias="Last-Event-ID", pattern="^[0-9]{1,18}$", description="As `after`; takes precedence over it."),
]

STREAM: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The stream.",
        "headers": {
            POSITION: {
                "description": "Where the stream begins: resume after it if it breaks off before its first event.",
                "schema": {"type": "string"},
            }
        },
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
        Query(
            max_length=50,
            description="Only of these; repeatable. A scope includes its further limits, a task its agents.",
        ),
    ] = None,
    after: Position = None,
    last_event_id: LastEventId = None,
) -> EventStream:
    """Streams events: budgets, approvals, compressions, progress of tasks. Without an id only new events.

    `id` is the position from which to resume, `event` the kind, `data` JSON with `at`, `scope` and `data`. An event
    `gap` comes first if a client cannot resume exactly where it left off, and last if the database has lost events. A
    key of role `agent` gets the kinds `compression`, `task`, `agent` and `turn`.
    """
    scopes = None if scope is None else [Scope.parse(one) for one in scope]
    check_tenant(caller, *(scopes or ()))
    kinds = _kinds(caller, kind)
    start = await use.feed.start(caller.tenant, after if last_event_id is None else int(last_event_id))

    async def stream() -> AsyncGenerator[bytes, None]:
        yield comment("purser", retry_ms=RETRY_MS)
        if start.gap is not None:
            yield _gap(start.gap)
        async with use.feed.subscribe(caller.tenant, kinds, start, scopes=scopes) as events:
            async for event in events:
                yield b"".join(use.feed.encoded(one, _encode) for one in (event, *events.take(MAX_JOINED - 1)))
        yield comment("the gateway is stopping: reconnect") if events.gap is None else _gap(events.gap)

    answer = EventStream(stream(), use.limits.stream(caller))
    answer.headers[POSITION] = str(start.position)
    return answer


def _gap(reason: Gap) -> bytes:
    return encode(event="gap", data=json.dumps({"reason": reason}))


def _encode(event: Event) -> bytes:
    data = json.dumps({"at": event.at.isoformat(), "scope": event.scope, "data": event.data})
    return encode(event=event.kind, data=data, position=event.position)


def _kinds(caller: Principal, asked: list[EventKind] | None) -> list[EventKind] | None:
    if caller.may(Permission.READ):
        return asked
    if asked is None:
        return sorted(WORK)
    if hidden := [kind for kind in asked if kind not in WORK]:
        raise Forbidden(f"role {str(caller.role)!r} may not follow {', '.join(hidden)}: use a key of viewer")
    return asked
