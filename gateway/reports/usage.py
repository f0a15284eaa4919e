"""`/v1/usage`: what was charged, by user, session, task, agent or model."""

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
"""Of a report that does not say where it begins."""


@router.get("")
async def report(
    caller: Reader,
    use: Use,
    by: Annotated[By, Query(description="What to add up by.")],
    since: Since = None,
    until: Until = None,
    cursor: NameCursor = None,
    limit: PageSize = 100,
) -> UsageView:
    """What was charged from `from` up to, without, `to`, from entries of the ledger: sums agree with it to the unit.

    By session, task and agent, a hold counts for each such scope on its path, as it does in that scope's balance. By
    model every hold counts once. Without `to` up to now, without `from` the 30 days before `to`. In the order of ids.
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
