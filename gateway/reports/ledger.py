"""`/v1/ledger`: ledger entries, in pages or as one CSV file."""

from collections.abc import AsyncIterator, Mapping
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import StreamingResponse

from purser.budget.reports.entries import EntryKind, EntryPage
from purser.budget.scopes import Scope
from purser.gateway.access.auth import Reader
from purser.gateway.http.pagination import Cursor, PageSize
from purser.gateway.http.routing import Route
from purser.gateway.http.time_ranges import COMPLETE_AFTER_HEADER, Since, Until, check_span, complete_after
from purser.gateway.reports.ledger_csv import COLUMNS, CSV, csv_lines, csv_row
from purser.gateway.reports.views import entry_view
from purser.gateway.services import Use
from purser.wire.base import PageOf
from purser.wire.reports import EntryView

router = APIRouter(route_class=Route, prefix="/v1/ledger", tags=["reports"])


@router.get(
    "",
    response_model=PageOf[EntryView],
    responses={
        200: {
            "content": {CSV: {"schema": {"type": "string"}, "example": ",".join(COLUMNS[:6]) + "\r\n"}},
            "headers": COMPLETE_AFTER_HEADER,
        }
    },
)
async def list_entries(
    request: Request,
    response: Response,
    caller: Reader,
    use: Use,
    scope: Annotated[
        str | None, Query(max_length=300, description="Only of this scope, for example session:s1.")
    ] = None,
    kind: Annotated[EntryKind | None, Query(description="Only of this kind.")] = None,
    hold: Annotated[
        str | None, Query(max_length=18, pattern="^[0-9]+$", description="Only of this hold, on all its scopes.")
    ] = None,
    task: Annotated[
        str | None, Query(max_length=128, description="Only of holds of this task, on all their scopes.")
    ] = None,
    since: Since = None,
    until: Until = None,
    cursor: Cursor = None,
    limit: PageSize = 100,
    format: Annotated[
        Literal["json", "csv"] | None, Query(description="Response format; by `Accept` if left out.")
    ] = None,
) -> Any:
    """Lists ledger entries, newest first: the change, the balance after it, and key, path and model of the hold.

    With `format=csv` or `Accept: text/csv` all entries that match the filters are returned as one file, and `limit`
    is ignored.
    """
    check_span(since, until)
    filters: dict[str, Any] = {
        "scope": None if scope is None else Scope.parse(scope),
        "kind": kind,
        "hold_id": hold,
        "task": task,
        "since": since,
        "until": until,
        "cursor": cursor,
    }
    if _wants_csv(format, request.headers.get("accept", "")):
        pages = use.entries.all(caller.tenant, **filters)
        first = await anext(pages)  # an unavailable ledger gives a problem, not a truncated file
        return _file(first, pages, complete_after(await use.entries.deleted_until(), since))
    page = await use.entries.list(caller.tenant, **filters, limit=limit)
    # Asked for after the entries, which retention may have deleted just before they were read.
    response.headers.update(complete_after(await use.entries.deleted_until(), since))
    return PageOf[EntryView](items=[entry_view(entry) for entry in page.entries], cursor=page.cursor)


def _wants_csv(format: str | None, accept: str) -> bool:
    return format == "csv" if format is not None else accept.partition(",")[0].partition(";")[0].strip() == CSV


def _file(first: EntryPage, following: AsyncIterator[EntryPage], headers: Mapping[str, str]) -> Response:
    async def chunks() -> AsyncIterator[bytes]:
        yield csv_lines([COLUMNS])
        yield csv_lines(map(csv_row, first.entries))
        async for page in following:
            yield csv_lines(map(csv_row, page.entries))

    named = {"Content-Disposition": 'attachment; filename="ledger.csv"'}
    return StreamingResponse(chunks(), media_type=f"{CSV}; charset=utf-8", headers={**headers, **named})
