"""Routes of the API: they check the role first, then the query, then the body."""

from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, get_args, get_origin

from fastapi import Request, Response
from fastapi.dependencies.models import Dependant
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.datastructures import QueryParams

from purser.gateway.access.auth import Needs
from purser.gateway.http.bodies import read_json, run_off_loop


class Route(APIRoute):
    """Checks the role before any of the body is read, and parses a large body off the event loop."""

    def get_route_handler(self) -> Callable[[Request], Awaitable[Response]]:  # type: ignore[override]
        handle = super().get_route_handler()
        needed = [one.call for one in self.dependant.dependencies if isinstance(one.call, Needs)]
        takes = QueryParameters(self.dependant)
        takes_body = self.body_field is not None

        async def handler(request: Request) -> Response:
            for needs in needed:
                needs.check(request.state.caller)
            if request.query_params:
                _check_query(request.query_params, takes)
            return await handle(await _read(request) if takes_body else request)

        return handler


class QueryParameters:
    """The query parameters that an endpoint takes."""

    def __init__(self, dependant: Dependant) -> None:
        fields = dict(_query_fields(dependant))
        self.names = sorted(fields)
        self._lists = {name for name, annotation in fields.items() if _is_list(annotation)}

    def unknown(self, query: QueryParams) -> str | None:
        """The first parameter of a query that the endpoint does not take."""
        return next((name for name in query if name not in self.names), None)

    def repeated(self, query: QueryParams) -> str | None:
        """The first parameter that a query has more than once, although it is no list."""
        counts = Counter(name for name, _ in query.multi_items() if name not in self._lists)
        return next((name for name, count in counts.items() if count > 1), None)


class _Read(Request):
    """A request whose body has been read and parsed."""

    def __init__(self, request: Request, body: bytes, value: Any) -> None:
        super().__init__(request.scope, request.receive)
        self.bytes_read = body
        self._value = value

    async def body(self) -> bytes:
        return self.bytes_read

    async def json(self) -> Any:
        return self._value


def size_of(request: Request) -> int:
    """Size in bytes of the body of a request to a `Route` that takes one."""
    return len(request.bytes_read) if isinstance(request, _Read) else 0


async def _read(request: Request) -> Request:
    body = await request.body()
    is_json = body and request.headers.get("content-type", "").partition(";")[0].strip().lower() == "application/json"
    return _Read(request, body, await run_off_loop(len(body), read_json, body) if is_json else None)


def _check_query(query: QueryParams, takes: QueryParameters) -> None:
    if (name := takes.unknown(query)) is not None:
        known = f"takes {', '.join(takes.names)}" if takes.names else "takes none"
        raise RequestValidationError([{"type": "unknown_query", "loc": ("query", name), "msg": known}])
    if (name := takes.repeated(query)) is not None:
        twice = "is repeated, send it once"
        raise RequestValidationError([{"type": "repeated_query", "loc": ("query", name), "msg": twice}])


def _query_fields(dependant: Dependant) -> Iterator[tuple[str, object]]:
    """Yields names and types of query parameters."""
    yield from ((field.alias, field.field_info.annotation) for field in dependant.query_params)
    for one in dependant.dependencies:
        yield from _query_fields(one)


def _is_list(annotation: object) -> bool:
    return any(get_origin(one) is list for one in (annotation, *get_args(annotation)))
