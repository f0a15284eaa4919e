"""Time ranges in queries: from `from` (inclusive) to `to` (exclusive)."""

from datetime import datetime
from typing import Annotated

from fastapi import Query

from purser.budget.errors import InvalidRequest
from purser.wire.fields import Time

Since = Annotated[
    Time | None,
    Query(
        alias="from",
        description="At or after this time, for example 2026-11-20T18:00:00Z.",
        examples=["2026-11-20T18:00:00Z"],
    ),
]
Until = Annotated[Time | None, Query(alias="to", description="Before this time.", examples=["2026-11-21T18:00:00Z"])]


def check_span(since: datetime | None, until: datetime | None) -> None:
    """Raises `InvalidRequest` if a range ends before it begins."""
    if since is not None and until is not None and until < since:
        raise InvalidRequest(f"to {until.isoformat()} is before from {since.isoformat()}: exchange them")
