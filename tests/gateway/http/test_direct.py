"""Endpoints that are served in front of the application answer exactly as the application does."""

from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from fastapi import APIRouter, FastAPI
from fastapi.exceptions import RequestValidationError
from pydantic import Field
from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.requests import Request as StarletteRequest
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from purser.budget.errors import NotFound
from purser.gateway.access.auth import Spender
from purser.gateway.access.roles import Principal, Role
from purser.gateway.holds import routes as holds
from purser.gateway.http.bodies import MAX_BODY
from purser.gateway.http.direct import DirectRoutes
from purser.gateway.http.limits import Limits
from purser.gateway.http.middleware import Boundary, RequestLimits
from purser.gateway.http.problems import from_validation
from purser.gateway.http.routing import Route
from purser.gateway.metrics.requests import Metrics
from purser.gateway.services import Use
from purser.wire.base import Body, View

router = APIRouter(route_class=Route)


class Act(Body):
    tokens: int = Field(ge=1)
    note: str = ""


class Answer(View):
    who: str
    what: str
    tokens: int
    note: str = ""


@router.post("/things/{what}", response_model=Answer, response_model_exclude_unset=True)
async def act(what: str, body: Act, caller: Spender, use: Use) -> dict[str, Any]:
    note = {"note": body.note} if body.note else {}
    return {"who": f"{caller.name} of {use.task_queue}", "what": what, "tokens": body.tokens, **note}


@router.post("/things/{what}/end")
async def end(what: str, caller: Spender, use: Use) -> Answer:
    if what == "nothing":
        raise NotFound("nothing does not exist")
    return Answer(who=f"{caller.name} of {use.task_queue}", what=what, tokens=0)


def caller_of(secret: str) -> Principal:
    """The caller of a key; the key is the name of its role."""
    return Principal("ada", "key-1", "default", Role(secret), None)


class Authenticated:
    """Names the caller, as authentication does."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["state"] = {"caller": caller_of(Headers(scope=scope)["authorization"].partition(" ")[2].strip())}
        await self._app(scope, receive, send)


class Keys:
    """The keys that are in use: that of an approver is not."""

    async def leased(self, secret: str) -> Principal | None:
        return None if secret == Role.APPROVER else caller_of(secret)


class Noted:
    """Notes the requests that reach the application."""

    def __init__(self, app: ASGIApp, reached: list[str]) -> None:
        self._app = app
        self._reached = reached

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._reached.append(scope["path"])
        await self._app(scope, receive, send)


async def _invalid(_: StarletteRequest, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    return from_validation(error).response()


SERVICES: Any = SimpleNamespace(keys=Keys(), limits=Limits(0, 0), metrics=Metrics(), task_queue="tests")


def application() -> FastAPI:
    app = FastAPI(
        middleware=[
            Middleware(Boundary, metrics=SERVICES.metrics),
            Middleware(Authenticated),
            Middleware(RequestLimits, limits=SERVICES.limits),
        ],
        exception_handlers={RequestValidationError: _invalid},
    )
    app.state.services = SERVICES
    app.include_router(router)
    return app


def client(app: ASGIApp) -> httpx.AsyncClient:
    headers = {"authorization": "Bearer agent"}
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://gateway", headers=headers)


def serving_directly() -> tuple[httpx.AsyncClient, list[str]]:
    """A client of both endpoints, and the requests that have reached the application."""
    reached: list[str] = []
    routes = [route for route in router.routes if isinstance(route, Route)]
    return client(DirectRoutes(Noted(application(), reached), routes, SERVICES)), reached


JSON = {"content-type": "application/json"}
USUAL: list[dict[str, Any]] = [
    {"url": "/things/a", "json": {"tokens": 5}},
    {"url": "/things/a%20b", "json": {"tokens": 5, "note": "naïve 中"}},
    {"url": "/things/a", "content": b'{"tokens": 5, "note": "na\\u00efve"}', "headers": JSON},
    {"url": "/things/a", "json": {"tokens": 5}, "headers": {"content-type": "Application/JSON; charset=utf-8"}},
    {"url": "/things/a", "json": {"tokens": 5}, "headers": {"authorization": "bearer  agent "}},
    {"url": "/things/a/end"},
    {"url": "/things/nothing/end"},
    {"url": "/things/a/end", "json": {"ignored": True}},
]
UNUSUAL: list[dict[str, Any]] = [
    {"url": "/things/a", "json": {"tokens": 0}},
    {"url": "/things/a", "json": {"tokens": "5"}},
    {"url": "/things/a", "json": {"tokens": 5, "more": 1}},
    {"url": "/things/a", "json": {"tokens": 5, "note": "\0"}},
    {"url": "/things/a", "json": [5]},
    {"url": "/things/a", "content": b"{", "headers": JSON},
    {"url": "/things/a", "content": b"[" * 60_000, "headers": JSON},
    {"url": "/things/a", "content": b'{"tokens": 5, "note": "\xff"}', "headers": JSON},
    {"url": "/things/a", "content": b'{"tokens": 5}', "headers": {"content-type": "text/plain"}},
    {"url": "/things/a", "json": {"tokens": 5}, "headers": {"content-encoding": "gzip"}},
    {"url": "/things/a", "content": b'{"tokens": 5}'},
    {"url": "/things/a", "json": {"tokens": 5, "note": "x" * MAX_BODY}},
    {"url": "/things/a"},
    {"url": "/things/a?more=1", "json": {"tokens": 5}},
    {"url": "/things/a%00/end"},
    {"url": "/things/a", "json": {"tokens": 5}, "headers": {"authorization": "Bearer viewer"}},
    {"url": "/things/a", "json": {"tokens": 5}, "headers": {"authorization": "Bearer approver"}},
    {"url": "/things/a/end", "headers": [("authorization", "Bearer viewer"), ("authorization", "Bearer agent")]},
    {"url": "/things/a/b/c", "json": {"tokens": 5}},
]


@pytest.mark.parametrize(("request_", "served"), [*((one, True) for one in USUAL), *((one, False) for one in UNUSUAL)])
async def test_every_request_is_answered_as_the_application_answers_it(request_: dict[str, Any], served: bool) -> None:
    (direct, reached), plain = serving_directly(), client(application())
    async with plain, direct:
        expected, found = await plain.post(**request_), await direct.post(**request_)
    assert (found.status_code, found.headers, found.content) == (
        expected.status_code,
        expected.headers,
        expected.content,
    )
    assert len(reached) == (0 if served else 1)


async def test_a_body_is_read_no_further_than_it_may_be_long() -> None:
    async def chunks() -> Any:
        for number in range(100):
            sent.append(number)
            yield b" " * 8_192

    sent: list[int] = []
    direct, reached = serving_directly()
    async with direct:
        answer = await direct.post("/things/a", content=chunks(), headers=JSON)
    assert (answer.status_code, len(reached)) == (413, 1)
    assert len(sent) <= MAX_BODY / 8_192 + 2


async def test_nothing_is_read_of_a_body_that_the_role_does_not_allow() -> None:
    async def body() -> Any:
        read.append(True)
        yield b""

    read: list[bool] = []
    direct, _ = serving_directly()
    async with direct:
        answer = await direct.post("/things/a", content=body(), headers=JSON | {"authorization": "Bearer viewer"})
    assert (answer.status_code, read) == (403, [])


async def test_requests_count_and_a_key_that_sends_too_many_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SERVICES, "limits", Limits(2, 0))
    monkeypatch.setattr(SERVICES, "metrics", Metrics())
    direct, reached = serving_directly()
    async with direct:
        answers = [await direct.post("/things/a", json={"tokens": 5}) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200, 200, 429]
    counted = [
        SERVICES.metrics.registry.get_sample_value(
            "purser_http_requests_total", {"method": "POST", "route": "/things/{what}", "status": status}
        )
        for status in ("200", "429")
    ]
    assert (counted, reached) == ([2, 1], [])


async def test_an_error_while_the_key_is_read_is_a_problem_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken:
        async def leased(self, _: str) -> None:
            raise ValueError

    monkeypatch.setattr(SERVICES, "keys", Broken())
    monkeypatch.setattr(SERVICES, "metrics", Metrics())
    direct, reached = serving_directly()
    async with direct:
        answer = await direct.post("/things/a", json={"tokens": 5})
    assert (answer.status_code, answer.json()["type"], reached) == (500, "urn:purser:internal", [])
    labels = {"method": "POST", "route": "none", "status": "500"}
    assert SERVICES.metrics.registry.get_sample_value("purser_http_requests_total", labels) == 1


async def test_a_get_reaches_the_application() -> None:
    direct, reached = serving_directly()
    async with direct:
        assert (await direct.get("/things/a")).status_code == 405
    assert reached == ["/things/a"]


def test_an_endpoint_with_other_parameters_cannot_be_served_directly() -> None:
    extend = [route for route in holds.router.routes if isinstance(route, Route) and route.endpoint is holds.extend]
    with pytest.raises(TypeError, match="takes once"):
        DirectRoutes(FastAPI(), extend, SERVICES)


def test_the_endpoints_of_every_call_are_served_directly() -> None:
    assert [route.endpoint for route in holds.HOT] == [
        holds.ask,
        holds.ask_each,
        holds.start_attempt,
        holds.settle,
        holds.release,
    ]
