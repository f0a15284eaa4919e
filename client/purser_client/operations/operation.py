"""One request to the HTTP API, independent of who sends it."""

import json
import math
import re
import uuid
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import update_wrapper, wraps
from typing import Any, Generic, ParamSpec, Protocol, TypeVar, overload
from urllib.parse import quote

from pydantic import BaseModel, ValidationError

from purser_client.errors import InvalidRequest, Unreadable, invalid
from purser_client.wire.limits import MAX_KEY
from purser_client.wire.storable import is_storable

P = ParamSpec("P")
T = TypeVar("T")
M = TypeVar("M", bound=BaseModel)

_CORRECT = "Correct the named fields."
_TOO_DEEP = "it is nested too deeply, or contains itself"


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
            raise _not_json("", _TOO_DEEP) from None

    return build_checked


def _invalid(error: ValidationError) -> InvalidRequest:
    found = [(".".join(map(str, one["loc"])), one["msg"]) for one in error.errors(include_input=False)]
    detail = "; ".join(f"{place or 'body'} is not valid: {text}" for place, text in found)
    return invalid(detail, _CORRECT, found[0][0])


def unsendable(values: Any, reason: str) -> InvalidRequest:
    """The error for values that cannot be encoded.

    Args:
        values: Searched for the first that cannot, to name its place; none is repeated.
        reason: What the encoder says, if none is found.
    """
    try:
        place, what = _fault(values) or ("", reason)
    except RecursionError:
        place, what = "", _TOO_DEEP
    return _not_json(place, what)


def _not_json(place: str, what: str) -> InvalidRequest:
    remedy = "Send texts, finite numbers, booleans, null, lists, and mappings with texts as keys."
    return invalid(f"{place or 'body'} is not valid: {what}", remedy, place)


def _fault(value: Any, place: str = "") -> tuple[str, str] | None:
    """The place of the first value that JSON in UTF-8 does not have, and what is wrong with it."""
    match value:
        case None | int():
            return None
        case float():
            return None if math.isfinite(value) else (place, "the number is not finite")
        case str():
            return None if is_storable(value) else (place, "text must not contain NUL or half of a surrogate pair")
        case Mapping():
            inner: Iterable[tuple[Any, Any]] = value.items()
        case list() | tuple():
            inner = enumerate(value)
        case _:
            return place, f"a {type(value).__name__} cannot be sent"
    for name, each in inner:
        if not (isinstance(name, int | float | None) or (isinstance(name, str) and is_storable(name))):
            return place, f"a {type(name).__name__} is not a key that can be sent"
        if (fault := _fault(each, f"{place}.{name}" if place else str(name))) is not None:
            return fault
    return None


def new_key() -> str:
    """A key that names one request or one call."""
    return uuid.uuid4().hex


def once(key: str | None = None) -> dict[str, str]:
    """The header that makes a repeated request one; raises `InvalidRequest` for a key that the gateway would refuse."""
    if key is None:
        key = new_key()
    elif not _is_key(key):
        remedy = f"Use 1 to {MAX_KEY} printable ASCII characters, without spaces around them, or leave it out."
        raise invalid("idempotency_key is not valid", remedy, "idempotency_key")
    return {"Idempotency-Key": key}


def _is_key(key: object) -> bool:
    # HTTP drops spaces around it.
    return isinstance(key, str) and len(key) <= MAX_KEY and bool(re.fullmatch("[!-~]([ -~]*[!-~])?", key))


def given(**values: Any) -> dict[str, Any]:
    """The values that are not `None`."""
    return {name: value for name, value in values.items() if value is not None}


def mapping(field: str, value: Mapping[str, T]) -> dict[str, T]:
    """A mapping as a dictionary; raises `InvalidRequest` for anything else."""
    if not isinstance(value, Mapping):
        raise invalid(f"{field} is not valid: a {type(value).__name__} is not a mapping", _CORRECT, field)
    return dict(value)


def listing(field: str, value: Sequence[T]) -> list[T]:
    """A sequence as a list; raises `InvalidRequest` for anything else, and for a text or a mapping."""
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        raise invalid(f"{field} is not valid: a {type(value).__name__} is not a list", _CORRECT, field)
    return list(value)


def part(text: object) -> str:
    """An id as one part of a path; raises `InvalidRequest` for no text, or one that would lead to another path."""
    # Gateways and proxies decode a quoted slash.
    if not isinstance(text, str) or text in ("", ".", "..") or "/" in text or not is_storable(text):
        remedy = "Use the id that the gateway has returned."
        raise invalid(f"{text!r:.140} is not valid as an id in an address", remedy)
    return quote(text, safe=":@~")


def scope_parts(scope: object) -> str:
    """A scope as the end of a path; that of an agent or of a model contains slashes. Raises `InvalidRequest`."""
    return "/".join(map(part, scope.split("/") if isinstance(scope, str) else [scope]))
