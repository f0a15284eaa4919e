"""Types of the fields of bodies."""

from datetime import UTC, datetime
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, AwareDatetime, BeforeValidator, Field, ValidationError

from .limits import MAX_AMOUNT, MAX_CALL_NANO_USD, MAX_CALL_TOKENS, MAX_LEASE_MS, MAX_TAGS
from .storable import is_storable_end, unstorable_at

Value = TypeVar("Value")


def storable(value: Value) -> Value:
    """Refuses text that Postgres cannot store, and on which it would fail only in the middle of a transaction."""
    if (place := unstorable_at(value)) is not None:
        why = ValueError("text must not contain NUL or half of a surrogate pair")
        fault: Any = {"type": "value_error", "loc": place, "input": None, "ctx": {"error": why}}
        raise ValidationError.from_exception_data("text", [fault])
    return value


def printable(value: str) -> str:
    """Refuses characters that cannot be displayed."""
    if not value.isprintable():
        raise ValueError("use printable characters")
    return value


def _in_utc(value: datetime) -> datetime:
    try:
        return value.astimezone(UTC)
    except OverflowError:
        raise ValueError("the time is out of range") from None


def _storable_end(value: datetime) -> datetime:
    if not is_storable_end(value):
        raise ValueError("the time is out of range")
    return value


def _no_number(value: object) -> object:
    # A number would be read as seconds since 1970.
    if isinstance(value, datetime):
        return value
    if isinstance(value, str):
        try:
            float(value)
        except ValueError:
            return value
    raise ValueError("write a time as text, for example 2026-11-20T18:00:00Z")


Positive = Annotated[int, Field(ge=1, le=MAX_AMOUNT)]
Count = Annotated[int, Field(ge=0, le=MAX_AMOUNT)]
CallTokens = Annotated[int, Field(ge=1, le=MAX_CALL_TOKENS)]
CallMoney = Annotated[int, Field(ge=0, le=MAX_CALL_NANO_USD)]
Lease = Annotated[int, Field(ge=1, le=MAX_LEASE_MS)]
Attempt = Annotated[int, Field(ge=1, le=1_000_000)]
Time = Annotated[AwareDatetime, Field(strict=False), BeforeValidator(_no_number), AfterValidator(_in_utc)]
"""A time in a body or a query, converted to UTC."""
EndTime = Annotated[Time, AfterValidator(_storable_end)]
"""The time at which something ends, which is stored."""
Tags = Annotated[dict[str, str], Field(max_length=MAX_TAGS)]
"""Values by the name of the tag."""
Name = Annotated[str, Field(min_length=1, max_length=256), AfterValidator(printable)]
