"""Serves the hot endpoints without the router, whose dependency injection costs more than all the rest of a request.

The endpoints, their bodies and their responses are those of the router: a request that is in any way unusual (another
role, a query, a body that is not valid) is passed to the router, which answers it.
"""

import inspect
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import BaseModel, ValidationError
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from purser.budget.errors import InvalidRequest
from purser.gateway.access.auth import Needs
from purser.gateway.http.bodies import MAX_BODY, read_json
from purser.gateway.services import Services

_PLAIN = {"body", "caller", "use"}
"""Parameters of an endpoint that can be served directly, apart from those of its path."""
_SENT = {"type": "http.response.start", "status": 200}


@dataclass(frozen=True, slots=True)
class _Direct:
    """An endpoint that is served directly."""

    route: APIRoute
    pattern: re.Pattern[str]
    needs: Needs
    body: type[BaseModel] | None
    endpoint: Callable[..., Awaitable[BaseModel]]

    @classmethod
    def of(cls, route: APIRoute) -> "_Direct":
        """Reads what an endpoint needs from its route."""
        [needs] = [one.call for one in route.dependant.dependencies if isinstance(one.call, Needs)]
        parameters = inspect.signature(route.endpoint, eval_str=True).parameters
        path = {parameter.name for parameter in route.dependant.path_params}
        if more := parameters.keys() - _PLAIN - path:
            raise TypeError(f"{route.path} cannot be served directly: it takes {', '.join(sorted(more))}")
        body = parameters["body"].annotation if "body" in parameters else None
        return cls(route, route.path_regex, needs, body, route.endpoint)


class DirectRoutes:
    """Middleware: serves some endpoints itself and passes all other requests on."""

    def __init__(self, app: ASGIApp, routes: Sequence[APIRoute], services: Services) -> None:
        """Args:
        app: the router.
        routes: endpoints with POST whose only parameters are `body`, `caller`, `use` and those of the path.
        services: passed to the endpoints as `use`.
        """
        self._app = app
        self._services = services
        self._served = [_Direct.of(route) for route in routes]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] == "POST" and not scope["query_string"]:
            for direct in self._served:
                if match := direct.pattern.fullmatch(scope["path"]):
                    await self._serve(direct, match.groupdict(), scope, receive, send)
                    return
        await self._app(scope, receive, send)

    async def _serve(self, direct: _Direct, values: dict[str, Any], scope: Scope, receive: Receive, send: Send) -> None:
        caller = scope["state"]["caller"]
        if not caller.may(direct.needs.permission):
            await self._app(scope, receive, send)
            return
        if direct.body is not None:
            messages = await _messages(receive)
            body = _parsed(direct.body, messages)
            if body is None:
                await self._app(scope, _again(messages, receive), send)
                return
            values["body"] = body
        scope["route"] = direct.route
        view = await direct.endpoint(caller=caller, use=self._services, **values)
        content = view.model_dump_json(by_alias=True, exclude_unset=direct.route.response_model_exclude_unset)
        await _respond(content.encode(), send)


async def _messages(receive: Receive) -> list[Message]:
    """Reads a body, or the news that the client has left."""
    messages = [await receive()]
    while messages[-1].get("more_body", False):
        messages.append(await receive())
    return messages


def _parsed(model: type[BaseModel], messages: Sequence[Message]) -> BaseModel | None:
    """The body, or `None` if the router has to refuse it."""
    content = b"".join(message.get("body", b"") for message in messages)
    if not content or len(content) > MAX_BODY:
        return None
    try:
        return model.model_validate(read_json(content))
    except (ValidationError, RequestValidationError, InvalidRequest):
        return None


def _again(messages: Sequence[Message], receive: Receive) -> Receive:
    """Receives messages that have been read once more."""
    left = list(messages)

    async def replay() -> Message:
        return left.pop(0) if left else await receive()

    return replay


async def _respond(content: bytes, send: Send) -> None:
    headers = [(b"content-length", str(len(content)).encode()), (b"content-type", b"application/json")]
    await send(_SENT | {"headers": headers})
    await send({"type": "http.response.body", "body": content})
