"""Base of request bodies. They are strict: no field is guessed, converted or ignored."""

from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import AfterValidator, AwareDatetime, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from purser.budget.holds import MAX_CALL_NANO_USD, MAX_CALL_TOKENS, MAX_LEASE_MS
from purser.budget.labels import MAX_TAGS
from purser.budget.policies.fields import MAX_AMOUNT
from purser.context.conversation.storable import is_storable


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


def _text_only(value: object) -> object:
    # A number would be read as seconds since 1970.
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
Time = Annotated[AwareDatetime, Field(strict=False), BeforeValidator(_text_only), AfterValidator(_in_utc)]
"""A time in a body or a query, converted to UTC."""
Tags = Annotated[dict[str, str], Field(max_length=MAX_TAGS)]
"""Values by the name of the tag."""
Name = Annotated[str, Field(min_length=1, max_length=256), AfterValidator(printable)]


class Request(BaseModel):
    """Base of all request bodies."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, use_attribute_docstrings=True)

    @model_validator(mode="before")
    @classmethod
    def _storable(cls, value: Any) -> Any:
        # Postgres stores neither, and would fail only in the middle of a transaction.
        if not is_storable(value):
            raise ValueError("text must not contain NUL or half of a surrogate pair")
        return value
