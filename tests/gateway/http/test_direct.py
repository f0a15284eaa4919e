"""Endpoints that are served without the router answer exactly as the router does."""

from typing import Any

import httpx
import pytest
from fastapi import APIRouter, FastAPI
from fastapi.exceptions import RequestValidationError
from pydantic import Field
from starlette.middleware import Middleware
from starlette.requests import Request as StarletteRequest
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from purser.gateway.access.auth import Spender
from purser.gateway.access.roles import Principal, Role
from purser.gateway.errors import Forbidden
from purser.gateway.holds import routes as holds
from purser.gateway.http.bodies import MAX_BODY
from purser.gateway.http.direct import DirectRoutes
from purser.gateway.http.problems import from_validation, problem_of
from purser.gateway.http.routing import Route
from purser.gateway.http.schemas import Request
from purser.gateway.http.views import View
from purser.gateway.services import Use

router = APIRouter(route_class=Route)
SERVICES: Any = "tests"


class Body(Request):
    tokens: int = Field(ge=1)
    note: str = ""


class Answer(View):
    who: str
    what: str
    tokens: int
    note: str = ""


@router.post("/things/{what}", response_model_exclude_unset=True)
async def act(what: str, body: Body, caller: Spender, use: Use) -> Answer:
    return Answer(
        who=f"{caller.name} of {use}", what=what, tokens=body.tokens, **({"note": body.note} if body.note else {})
    )


@router.post("/things/{what}/end")
async def end(what: str, caller: Spender, use: Use) -> Answer:
    return Answer(who=f"{caller.name} of {use}", what=what, tokens=0)


class Caller:
    """Names the caller, as authentication does, and maps errors of its role."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        role = Role(dict(scope["headers"]).get(b"role", b"agent").decode())
        scope["state"] = {"caller": Principal("ada", "key-1", "default", role, None)}
        try:
            await self._app(scope, receive, send)
        except Forbidden as error:
            problem = problem_of(error)
            assert problem is not None
            await problem.response()(scope, receive, send)


class Routed:
    """Notes the requests that reach the router."""

    def __init__(self, app: ASGIApp, reached: list[str]) -> None:
        self._app = app
        self._reached = reached

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._reached.append(scope["path"])
        await self._app(scope, receive, send)


async def _invalid(_: StarletteRequest, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    return from_validation(error).response()


def application(*direct: Middleware) -> tuple[httpx.AsyncClient, list[str]]:
    """A client of an application with the two endpoints, and the requests that have reached its router."""
    reached: list[str] = []
    middleware = [Middleware(Caller), *direct, Middleware(Routed, reached=reached)]
    app = FastAPI(middleware=middleware, exception_handlers={RequestValidationError: _invalid})
    app.state.services = SERVICES
    app.include_router(router)
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://gateway"), reached


def serving_directly() -> tuple[httpx.AsyncClient, list[str]]:
    routes = [route for route in router.routes if isinstance(route, Route)]
    return application(Middleware(DirectRoutes, routes=routes, services=SERVICES))


USUAL: list[dict[str, Any]] = [
    {"url": "/things/a", "json": {"tokens": 5}},
    {"url": "/things/a%20b", "json": {"tokens": 5, "note": "naïve 中"}},
    {"url": "/things/a/end"},
    {"url": "/things/a/end", "json": {"ignored": True}},
]
UNUSUAL: list[dict[str, Any]] = [
    {"url": "/things/a", "json": {"tokens": 0}},
    {"url": "/things/a", "json": {"tokens": "5"}},
    {"url": "/things/a", "json": {"tokens": 5, "more": 1}},
    {"url": "/things/a", "json": {"tokens": 5, "note": "\0"}},
    {"url": "/things/a", "json": [5]},
    {"url": "/things/a", "content": b"{", "headers": {"content-type": "application/json"}},
    {"url": "/things/a", "content": b"[" * 100_000, "headers": {"content-type": "application/json"}},
    {"url": "/things/a", "json": {"tokens": 5, "note": "x" * MAX_BODY}},
    {"url": "/things/a"},
    {"url": "/things/a?more=1", "json": {"tokens": 5}},
    {"url": "/things/a", "json": {"tokens": 5}, "headers": {"role": "viewer"}},
    {"url": "/things/a/b/c", "json": {"tokens": 5}},
]


@pytest.mark.parametrize(("request_", "served"), [*((one, True) for one in USUAL), *((one, False) for one in UNUSUAL)])
async def test_every_request_is_answered_as_the_router_answers_it(request_: dict[str, Any], served: bool) -> None:
    (plain, _), (direct, reached) = application(), serving_directly()
    async with plain, direct:
        expected, found = await plain.post(**request_), await direct.post(**request_)
    assert (found.status_code, found.headers, found.content) == (
        expected.status_code,
        expected.headers,
        expected.content,
    )
    assert len(reached) == (0 if served else 1)


async def test_a_get_reaches_the_router() -> None:
    direct, reached = serving_directly()
    async with direct:
        assert (await direct.get("/things/a")).status_code == 405
    assert reached == ["/things/a"]


def test_an_endpoint_with_other_parameters_cannot_be_served_directly() -> None:
    extend = [route for route in holds.router.routes if isinstance(route, Route) and route.endpoint is holds.extend]
    with pytest.raises(TypeError, match="takes once"):
        DirectRoutes(FastAPI(), extend, services=SERVICES)


def test_the_endpoints_of_every_call_are_served_directly() -> None:
    assert [route.endpoint for route in holds.HOT] == [
        holds.ask,
        holds.ask_each,
        holds.start_attempt,
        holds.settle,
        holds.release,
    ]
