"""Spans of time in queries: half open, from `from` up to, without, `to`."""

from datetime import UTC, datetime
from typing import Annotated

from fastapi import Query
from pydantic import AfterValidator, AwareDatetime, BeforeValidator

from purser.budget.errors import InvalidRequest


def _text_only(value: object) -> object:
    try:
        float(str(value))
    except ValueError:
        return value
    raise ValueError("write a time as text, for example 2026-11-20T18:00:00Z")


def _in_utc(value: datetime) -> datetime:
    try:
        return value.astimezone(UTC)
    except OverflowError:
        raise ValueError("the time is out of range") from None


Moment = Annotated[AwareDatetime, BeforeValidator(_text_only), AfterValidator(_in_utc)]
Since = Annotated[
    Moment | None,
    Query(
        alias="from",
        description="At or after this time, for example 2026-11-20T18:00:00Z.",
        examples=["2026-11-20T18:00:00Z"],
    ),
]
Until = Annotated[Moment | None, Query(alias="to", description="Before this time.", examples=["2026-11-21T18:00:00Z"])]


def check_span(since: datetime | None, until: datetime | None) -> None:
    """Raises `InvalidRequest` for a span that ends before it begins."""
    if since is not None and until is not None and until < since:
        raise InvalidRequest(f"to {until.isoformat()} is before from {since.isoformat()}: exchange them")
