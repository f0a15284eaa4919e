"""`/v1/usage`: charges by user, session, task, agent or model."""

from datetime import UTC, datetime, timedelta
from typing import Annotated

from fastapi import APIRouter, Query

from purser.budget.reports.usage import By
from purser.gateway.access.auth import Reader
from purser.gateway.http.pagination import NameCursor, PageSize, name_after, name_cursor
from purser.gateway.http.routing import Route
from purser.gateway.http.time_ranges import Since, Until, check_span
from purser.gateway.reports.views import UsageLineView, UsageView
from purser.gateway.services import Use

router = APIRouter(route_class=Route, prefix="/v1/usage", tags=["reports"])

SPAN = timedelta(days=30)
"""Default time range of a report."""


@router.get("")
async def report(
    caller: Reader,
    use: Use,
    by: Annotated[By, Query(description="Dimension by which to sum.")],
    since: Since = None,
    until: Until = None,
    cursor: NameCursor = None,
    limit: PageSize = 100,
) -> UsageView:
    """Sums the charges from `from` (inclusive) to `to` (exclusive), exactly as in the ledger.

    By session, task and agent, a hold counts for each such scope on its path, as it does in that scope's balance. By
    model, every hold counts once. `to` defaults to now, `from` to 30 days before `to`. Ordered by id.
    """
    end = until or datetime.now(UTC)
    begin = since or max(end, _FIRST + SPAN) - SPAN
    check_span(begin, end)
    found = await use.usage.report(caller.tenant, by, begin, end, after=name_after(cursor), limit=limit)
    return UsageView(
        items=[UsageLineView.of(line) for line in found.lines],
        cursor=name_cursor(found.following),
        by=by,
        since=begin,
        until=end,
    )


_FIRST = datetime.min.replace(tzinfo=UTC)
