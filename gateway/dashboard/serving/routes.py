"""Endpoints for the pages' scripts: a stream of updates, and acts of the person."""

import json
from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager
from typing import Annotated

from fastapi import APIRouter, Depends, Header, Query, Request, Response
from pydantic import BaseModel, ConfigDict
from starlette.datastructures import Headers
from starlette.routing import Match
from starlette.routing import Route as PlainRoute
from starlette.types import Scope

from purser.gateway.access.auth import signed_in
from purser.gateway.access.browsers import CSRF_HEADER, is_csrf_token
from purser.gateway.dashboard.pages import missing_page
from purser.gateway.dashboard.region import Act
from purser.gateway.dashboard.serving.open_pages import OpenPage
from purser.gateway.dashboard.visit import Dashboard
from purser.gateway.errors import ForgedRequest
from purser.gateway.events.stream import EventStream, comment, encode
from purser.gateway.http.routing import Route
from purser.gateway.postgres.browser_sessions import BrowserSession
from purser.gateway.services import Use

RETRY_MS = 1_000

router = APIRouter(route_class=Route, prefix="/_purser/pages", include_in_schema=False)


class ActBody(BaseModel):
    """An act of a person, as sent by a page."""

    model_config = ConfigDict(extra="forbid")

    region: str
    name: str
    data: dict[str, str]
    fields: dict[str, str]


Session = Annotated[BrowserSession, Depends(signed_in)]


async def _own(request: Request, page_id: str, session: Session) -> OpenPage:
    dashboard: Dashboard = request.app.state.dashboard
    return dashboard.pages.find(page_id, session.session_id)


Own = Annotated[OpenPage, Depends(_own)]


@router.get("/{page_id}/events", response_class=EventStream)
async def follow(
    page: Own,
    session: Session,
    use: Use,
    after: Annotated[int, Query(ge=0)] = 0,
    last_event_id: Annotated[str | None, Header(alias="Last-Event-ID", pattern="^[0-9]{1,18}$")] = None,
) -> EventStream:
    """Streams the updates of a page that follow the last one its browser received."""

    async def stream() -> AsyncGenerator[bytes, None]:
        yield comment("purser", retry_ms=RETRY_MS)
        async for one in page.screen.updates(after if last_event_id is None else int(last_event_id)):
            yield encode(event=one.kind, data=json.dumps(one.data), position=one.number)

    @contextmanager
    def place() -> Iterator[None]:
        with use.limits.stream(session.caller), page.streaming():
            yield

    return EventStream(stream(), place())


@router.post("/{page_id}/acts", status_code=204)
async def act(page: Own, session: Session, body: ActBody, request: Request) -> Response:
    """Handles an act. Answered once it is done; its effects arrive in the stream."""
    if not is_csrf_token(request.headers.get(CSRF_HEADER, ""), session.secret):
        raise ForgedRequest(f"acts of a page require the header {CSRF_HEADER}")
    await page.act(body.region, Act(body.name, body.data, body.fields))
    return Response(status_code=204)


class MissingPage(PlainRoute):
    """Matches a browser's request for a document at an unknown address; unknown paths of the API remain the API's."""

    def __init__(self) -> None:
        super().__init__("/{path:path}", missing_page, name="missing page")

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        wants_document = scope.get("method") == "GET" and "text/html" in Headers(scope=scope).get("accept", "")
        if not wants_document or scope["path"].split("/")[1] in ("v1", "_purser"):
            return Match.NONE, {}
        return super().matches(scope)
