"""`/v1/usage`: charges by tenant, user, session, task, agent, tag, model, tool or day."""

from contextlib import suppress
from datetime import UTC, datetime, time, timedelta
from typing import Annotated
from zoneinfo import ZoneInfo

from fastapi import APIRouter, Query, Response

from purser.budget.reports.usage import By
from purser.budget.scopes import Scope
from purser.budget.windows import zone
from purser.gateway.access.auth import Reader
from purser.gateway.http.pagination import NameCursor, PageSize, name_after, name_cursor
from purser.gateway.http.routing import Route
from purser.gateway.http.time_ranges import COMPLETE_AFTER_HEADER, Since, Until, check_span, complete_after
from purser.gateway.reports.views import usage_line_view
from purser.gateway.services import Use
from purser.wire.reports import UsageView

router = APIRouter(route_class=Route, prefix="/v1/usage", tags=["reports"])

SPAN = timedelta(days=30)
"""Default time range of a report."""


@router.get("", responses={200: {"headers": COMPLETE_AFTER_HEADER}})
async def report(
    response: Response,
    caller: Reader,
    use: Use,
    by: Annotated[By, Query(description="Dimension by which to sum.")],
    since: Since = None,
    until: Until = None,
    within: Annotated[
        str | None,
        Query(max_length=300, description="Only holds that drew on the budget of this scope, for example session:s1."),
    ] = None,
    timezone: Annotated[
        str | None, Query(max_length=64, description="IANA time zone in which days begin; UTC if left out.")
    ] = None,
    cursor: NameCursor = None,
    limit: PageSize = 100,
) -> UsageView:
    """Sums the charges from `from` (inclusive) to `to` (exclusive), exactly as in the ledger.

    By tenant, user, session, task and agent, a hold counts for each such scope on its path, as it does in that scope's
    balance. By model, tool and day, every hold counts once; by tag, once for each of its tags. Neither needs a budget.
    What names no model, tool or tag has an empty id. `to` defaults to now, `from` to 30 days before it; by day, to the
    midnight before that. Ordered by id.
    All pages are of the span of the first: a cursor contains `from` and `to`, which are ignored next to it.
    """
    days_in = zone(timezone or "UTC")
    begin, end, after = _first(since, until, by, days_in) if cursor is None else _next(cursor)
    found = await use.usage.report(
        caller.tenant,
        by,
        begin,
        end,
        within=() if within is None else (Scope.parse(within),),
        after=after,
        limit=limit,
        timezone=days_in.key,
    )
    # Asked for after the sums, whose entries retention may have deleted just before they were read.
    response.headers.update(complete_after(await use.entries.deleted_until(), begin))
    return UsageView(
        items=[usage_line_view(line) for line in found.lines],
        cursor=None if found.following is None else name_cursor(begin, end, name=found.following),
        by=by,
        from_=begin,
        to=end,
    )


def _first(
    since: datetime | None, until: datetime | None, by: By, days_in: ZoneInfo
) -> tuple[datetime, datetime, None]:
    """Start and end of a report, and that its first page begins with the first line."""
    end = until or datetime.now(UTC)
    begin = since or default_start(end, by, days_in)
    check_span(begin, end)
    return begin, end, None


def _next(cursor: str) -> tuple[datetime, datetime, str]:
    """Start and end of a report, and the id after which its next page begins."""
    (begin, end), after = name_after(cursor, times=2)
    return begin, end, after


def default_start(end: datetime, by: By, days_in: ZoneInfo) -> datetime:
    """The start of a report that names only its end: `SPAN` before it, or the first time that there is.

    By day, it is the midnight before that in the time zone `days_in`: the first day is a whole one, too.
    """
    begin = max(end, _FIRST + SPAN) - SPAN
    if by is By.DAY:
        with suppress(OverflowError):  # that midnight is before the first time that there is
            return datetime.combine(begin.astimezone(days_in), time(), days_in).astimezone(UTC)
    return begin


_FIRST = datetime.min.replace(tzinfo=UTC)
