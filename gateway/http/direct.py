"""Serves the hot endpoints in front of the application: its middleware, its router and its dependency injection cost
more than all the rest of a request.

Endpoints, rules of bodies and queries, limits and problems are those of the application. A request that is in any way
unusual (a key that is not in use, another role, a query that is not valid, a body that is not plain) is passed on, and
the application answers it.
"""

import asyncio
import inspect
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import msgspec
from fastapi.dependencies.utils import request_params_to_args
from fastapi.routing import APIRoute
from pydantic import BaseModel
from starlette.datastructures import QueryParams
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from purser.gateway.access.auth import Needs
from purser.gateway.access.roles import Principal
from purser.gateway.http.bodies import MAX_BODY
from purser.gateway.http.middleware import JSON, observed
from purser.gateway.http.plain_bodies import PlainBodies
from purser.gateway.http.routing import QueryParameters
from purser.gateway.services import Services

Answer = Mapping[str, Any] | BaseModel
"""What an endpoint returns: the fields that its response model has, or that model."""
_GIVEN = {"body", "caller", "use"}
"""Parameters of an endpoint that can be served directly, apart from those of its path and query."""
_ONCE = (b"authorization", b"content-type", b"content-length", b"content-encoding")


def _dump(model: Any) -> msgspec.Raw:
    if isinstance(model, BaseModel):
        return msgspec.Raw(model.model_dump_json(by_alias=True))
    raise TypeError(f"{type(model).__name__} is no part of an answer")


_encode = msgspec.json.Encoder(enc_hook=_dump).encode


@dataclass(frozen=True, slots=True)
class _Direct:
    """An endpoint that is served directly."""

    route: APIRoute
    pattern: re.Pattern[str]
    needs: Needs
    queries: QueryParameters
    bodies: PlainBodies | None
    endpoint: Callable[..., Awaitable[Answer]]

    @classmethod
    def of(cls, route: APIRoute) -> "_Direct":
        """Reads what an endpoint needs from its route."""
        [needs] = [one.call for one in route.dependant.dependencies if isinstance(one.call, Needs)]
        parameters = inspect.signature(route.endpoint, eval_str=True).parameters
        given = {parameter.name for parameter in (*route.dependant.path_params, *route.dependant.query_params)}
        if more := parameters.keys() - _GIVEN - given:
            raise TypeError(f"{route.path} cannot be served directly: it takes {', '.join(sorted(more))}")
        bodies = PlainBodies(parameters["body"].annotation) if "body" in parameters else None
        return cls(route, route.path_regex, needs, QueryParameters(route.dependant), bodies, route.endpoint)

    def query(self, query_string: bytes) -> dict[str, Any] | None:
        """The values of a query; `None` if it is not valid."""
        if not query_string and not self.route.dependant.query_params:
            return {}
        query = QueryParams(query_string)
        if self.queries.unknown(query) is not None or self.queries.repeated(query) is not None:
            return None
        values, errors = request_params_to_args(self.route.dependant.query_params, query)
        return None if errors else values

    def content(self, answer: Answer) -> bytes:
        """An answer as JSON."""
        if isinstance(answer, BaseModel):
            unset = self.route.response_model_exclude_unset
            return answer.model_dump_json(by_alias=True, exclude_unset=unset).encode()
        return _encode(answer)


@dataclass(frozen=True, slots=True)
class _Call:
    """A request that is served directly."""

    direct: _Direct
    caller: Principal
    values: dict[str, Any]


@dataclass(slots=True)
class _Replayed:
    """Receives the messages that have been read once more."""

    receive: Receive
    messages: list[Message] = field(default_factory=list)

    async def __call__(self) -> Message:
        return self.messages.pop(0) if self.messages else await self.receive()


class DirectRoutes:
    """An application in front of another one: serves some of its endpoints, and passes all other requests on."""

    def __init__(self, app: ASGIApp, routes: Sequence[APIRoute], services: Services) -> None:
        """Args:
        app: the whole application.
        routes: endpoints whose only parameters are `body`, `caller`, `use` and those of path and query.
        services: passed to the endpoints as `use`.
        """
        self._app = app
        self._services = services
        self._served = {
            method: [_Direct.of(route) for route in routes if method in (route.methods or ())]
            for method in ("GET", "POST")
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or "\0" in scope["path"] or b"%00" in scope["query_string"]:
            await self._app(scope, receive, send)
            return
        replayed = _Replayed(receive)
        try:
            call = await self._call(scope, replayed)
        except (Exception, asyncio.CancelledError) as error:
            await observed(partial(_raise, error), self._services.metrics, scope, receive, send)
            return
        if call is None:
            await self._app(scope, replayed, send)
            return
        scope["route"] = call.direct.route
        await observed(partial(self._answer, call), self._services.metrics, scope, receive, send)

    async def _call(self, scope: Scope, body: _Replayed) -> _Call | None:
        """What a request asks for; `None` if it is unusual. The body is read last."""
        for direct in self._served.get(scope["method"], ()):
            if match := direct.pattern.fullmatch(scope["path"]):
                break
        else:
            return None
        headers = _plain_headers(scope)
        caller = None if headers is None else await self._caller(headers)
        if headers is None or caller is None or not caller.may(direct.needs.permission):
            return None
        query = direct.query(scope["query_string"])
        if query is None:
            return None
        values = match.groupdict() | query
        if direct.bodies is not None:
            if not _is_plain(headers):
                return None
            content = await _read(body)
            values["body"] = None if content is None else direct.bodies.decode(content)
            if values["body"] is None:
                return None
        return _Call(direct, caller, values)

    async def _caller(self, headers: Mapping[bytes, bytes]) -> Principal | None:
        scheme, _, secret = headers.get(b"authorization", b"").decode("latin-1").partition(" ")
        return await self._services.keys.leased(secret.strip()) if scheme.lower() == "bearer" else None

    async def _answer(self, call: _Call, scope: Scope, receive: Receive, send: Send) -> None:
        await self._services.limits.request(call.caller)
        content = call.direct.content(await call.direct.endpoint(caller=call.caller, use=self._services, **call.values))
        headers = [(b"content-length", b"%d" % len(content)), (b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": content})


async def _raise(error: BaseException, *_: object) -> None:
    raise error


def _plain_headers(scope: Scope) -> dict[bytes, bytes] | None:
    """The headers that matter here; `None` if one is repeated."""
    found: dict[bytes, bytes] = {}
    for name, value in scope["headers"]:
        if name in _ONCE:
            if name in found:
                return None
            found[name] = value
    return found


def _is_plain(headers: Mapping[bytes, bytes]) -> bool:
    """Whether a body is JSON, neither compressed nor known to be too large."""
    media_type = headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
    length = headers.get(b"content-length", b"0")
    is_small = length.isdigit() and int(length) <= MAX_BODY
    return is_small and media_type == JSON.encode() and b"content-encoding" not in headers


async def _read(body: _Replayed) -> bytes | None:
    """A body; `None` if it is too large, or the client has left. What has been read is replayed."""
    size, more = 0, True
    while more:
        message = await body.receive()
        body.messages.append(message)
        size += len(message.get("body", b""))
        more = message.get("more_body", False)
        if size > MAX_BODY or message["type"] == "http.disconnect":
            return None
    return b"".join(message.get("body", b"") for message in body.messages)
