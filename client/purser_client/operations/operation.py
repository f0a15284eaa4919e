"""One request to the HTTP API, independent of who sends it."""

import uuid
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from functools import update_wrapper, wraps
from typing import Any, Generic, ParamSpec, Protocol, TypeVar, overload
from urllib.parse import quote

from pydantic import BaseModel, ValidationError

from purser_client.errors import InvalidRequest, Unreadable
from purser_client.wire.problems import Problem

P = ParamSpec("P")
T = TypeVar("T")
M = TypeVar("M", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Operation(Generic[M]):
    """A request. Repeating it has the effect of one, whatever its method: by a key, a number, or a header."""

    name: str
    """Its `operationId` in the OpenAPI document."""
    method: str
    path: str
    answer: type[M]
    body: BaseModel | Mapping[str, Any] | None = None
    query: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)

    def content(self) -> Any:
        """The body as JSON values; `None` without one."""
        return (
            self.body.model_dump(mode="json", exclude_unset=True, by_alias=True)
            if isinstance(self.body, BaseModel)
            else self.body
        )

    def read(self, body: bytes) -> M:
        """Reads the body of a success; raises `Unreadable`."""
        try:
            return self.answer.model_validate_json(body)
        except ValidationError as error:
            raise Unreadable(
                f"{self.method} {self.path} has an answer of another version: use the client of the gateway's version"
            ) from error


class Sends(Protocol):
    """What sends operations and waits for the answer."""

    def send(self, operation: Operation[M], /) -> M:
        """Sends an operation; returns its answer."""


class SendsAsync(Protocol):
    """What sends operations and can be awaited."""

    async def send(self, operation: Operation[M], /) -> M:
        """Sends an operation; returns its answer."""


@dataclass(frozen=True, slots=True)
class Group:
    """Operations of one resource."""

    client: Sends


@dataclass(frozen=True, slots=True)
class AsyncGroup:
    """Operations of one resource, to be awaited."""

    client: SendsAsync


class Offered(Generic[P, M]):
    """A method that sends an operation: plain in a `Group`, awaitable in an `AsyncGroup`."""

    def __init__(self, build: Callable[P, Operation[M]]) -> None:
        self._build = build
        update_wrapper(self, build)

    @overload
    def __get__(self, group: None, owner: type) -> "Offered[P, M]": ...
    @overload
    def __get__(self, group: Group, owner: type) -> Callable[P, M]: ...
    @overload
    def __get__(self, group: AsyncGroup, owner: type) -> Callable[P, Coroutine[Any, Any, M]]: ...
    def __get__(self, group: Group | AsyncGroup | None, owner: type) -> Any:
        if group is None:
            return self

        @wraps(self._build)
        def send(*args: P.args, **kwargs: P.kwargs) -> Any:
            return group.client.send(self._build(*args, **kwargs))

        return send

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Operation[M]:
        """The operation, which is not sent."""
        return self._build(*args, **kwargs)


def checked(build: Callable[P, Operation[M]]) -> Callable[P, Operation[M]]:
    """Makes a function that builds an operation raise `InvalidRequest` for a body that the gateway would refuse."""

    @wraps(build)
    def build_checked(*args: P.args, **kwargs: P.kwargs) -> Operation[M]:
        try:
            return build(*args, **kwargs)
        except ValidationError as error:
            raise _invalid(error) from None

    return build_checked


def _invalid(error: ValidationError) -> InvalidRequest:
    found = [(".".join(map(str, one["loc"])), one["msg"]) for one in error.errors(include_input=False)]
    detail = "; ".join(f"{place or 'body'} is not valid: {text}" for place, text in found)
    return _refused(detail, "Correct the named fields.", found[0][0])


def _refused(detail: str, remedy: str, field: str | None = None) -> InvalidRequest:
    title = "The request is not valid"
    return InvalidRequest(
        Problem(type="urn:purser:invalid-request", title=title, status=422, detail=detail, remedy=remedy, field=field)
    )


def new_key() -> str:
    """A key that names one request or one call."""
    return uuid.uuid4().hex


def once(key: str | None = None) -> dict[str, str]:
    """The header that makes a repeated request one."""
    return {"Idempotency-Key": new_key() if key is None else key}


def given(**values: Any) -> dict[str, Any]:
    """The values that are not `None`."""
    return {name: value for name, value in values.items() if value is not None}


def part(text: str) -> str:
    """An id as one part of a path; raises `InvalidRequest` for one that would lead to another path."""
    # Gateways and proxies decode a quoted slash.
    if text in ("", ".", "..") or "/" in text:
        raise _refused(f"{text!r} is not valid as an id in an address", "Use the id that the gateway has returned.")
    return quote(text, safe=":@~")


def scope_parts(scope: str) -> str:
    """A scope as the end of a path; that of an agent or of a model contains slashes. Raises `InvalidRequest`."""
    return "/".join(map(part, scope.split("/")))
