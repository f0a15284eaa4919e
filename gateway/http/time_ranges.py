"""Time ranges in queries: from `from` (inclusive) to `to` (exclusive), and whether what they name is still there."""

from datetime import datetime
from typing import Annotated, Any

from fastapi import Query

from purser.budget.errors import InvalidRequest
from purser.wire.fields import Time
from purser.wire.reports import COMPLETE_AFTER

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


COMPLETE_AFTER_HEADER: dict[str, Any] = {
    COMPLETE_AFTER: {
        "description": "Sent if the range begins before it: retention has deleted events of the ledger until then.",
        "schema": {"type": "string", "format": "date-time"},
    }
}
"""How OpenAPI describes the header."""


def complete_after(deleted_until: datetime | None, since: datetime | None) -> dict[str, str]:
    """The headers of an answer about a range from `since` on that says since when it is complete."""
    if deleted_until is None or (since is not None and since > deleted_until):
        return {}
    return {COMPLETE_AFTER: deleted_until.isoformat()}
