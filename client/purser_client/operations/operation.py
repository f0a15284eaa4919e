"""One request to the HTTP API, independent of who sends it."""

import json
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from functools import update_wrapper, wraps
from typing import Any, Generic, ParamSpec, Protocol, TypeVar, overload

from pydantic import BaseModel, ValidationError

from purser_client.errors import InvalidRequest, Unreadable, invalid
from purser_client.operations.arguments import CORRECT, too_deep, unsendable

P = ParamSpec("P")
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

    def content(self) -> bytes | None:
        """The body as JSON; `None` without one. Raises `InvalidRequest` for what JSON in UTF-8 does not have."""
        if self.body is None:
            return None
        values: Any = self.body
        try:
            if isinstance(self.body, BaseModel):
                values = self.body.model_dump(mode="json", exclude_unset=True, by_alias=True)
            return json.dumps(values, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
        except (TypeError, ValueError, RecursionError) as error:
            raise unsendable(values, str(error)) from None

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
        except RecursionError:
            raise too_deep() from None

    return build_checked


def _invalid(error: ValidationError) -> InvalidRequest:
    found = [(".".join(map(str, one["loc"])), one["msg"]) for one in error.errors(include_input=False)]
    detail = "; ".join(f"{place or 'body'} is not valid: {_complaint(text)}" for place, text in found)
    return invalid(detail, CORRECT, found[0][0])


def _complaint(message: str) -> str:
    """What is wrong, in the words of the gateway."""
    text = message.removeprefix("Value error, ")
    return f"{text[0].lower()}{text[1:]}"
