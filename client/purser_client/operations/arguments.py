"""What callers give an operation: ids, keys and values, and whether they can be sent."""

import math
import re
import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar
from urllib.parse import quote

from purser_client.errors import InvalidRequest, invalid
from purser_client.wire.limits import MAX_KEY
from purser_client.wire.storable import is_storable

T = TypeVar("T")

CORRECT = "Correct the named fields."
"""The remedy for fields that are not valid."""


def unsendable(values: Any, reason: str) -> InvalidRequest:
    """The error for values that cannot be encoded.

    Args:
        values: Searched for the first that cannot, to name its place; none is repeated.
        reason: What the encoder says, if none is found.
    """
    try:
        place, what = _fault(values) or ("", reason)
    except RecursionError:
        return too_deep()
    return _not_json(place, what)


def too_deep() -> InvalidRequest:
    """The error for values that are nested without end."""
    return _not_json("", "it is nested too deeply, or contains itself")


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
        raise invalid(f"{field} is not valid: a {type(value).__name__} is not a mapping", CORRECT, field)
    return dict(value)


def listing(field: str, value: Sequence[T]) -> list[T]:
    """A sequence as a list; raises `InvalidRequest` for anything else, and for a text or a mapping."""
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        raise invalid(f"{field} is not valid: a {type(value).__name__} is not a list", CORRECT, field)
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
