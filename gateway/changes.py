"""`/v1/changes`: who changed what."""

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import AwareDatetime

from gateway.auth import Reader
from gateway.pages import Cursor, Page, PageSize
from gateway.services import Use

router = APIRouter(prefix="/v1/changes", tags=["changes"])


@router.get("")
async def list_changes(
    caller: Reader,
    use: Use,
    target: Annotated[
        str | None, Query(max_length=512, description="What was changed, for example session:s1.")
    ] = None,
    by: Annotated[str | None, Query(max_length=128, description="Name of the key that changed it.")] = None,
    action: Annotated[str | None, Query(max_length=128, description="For example policy.set.")] = None,
    since: Annotated[AwareDatetime | None, Query(alias="from", description="At or after this time.")] = None,
    until: Annotated[AwareDatetime | None, Query(alias="to", description="Before this time.")] = None,
    cursor: Cursor = None,
    limit: PageSize = 100,
) -> Page:
    """Who changed which policy, key, sign-in, session, task, approval or webhook; before and after; newest first."""
    changes, following = await use.changes.list(
        caller.tenant,
        target=target,
        by=by,
        action=action,
        since=since,
        until=until,
        cursor=None if cursor is None else int(cursor),
        limit=limit,
    )
    items = [change.to_json() for change in changes]
    return Page(items=items, cursor=None if following is None else str(following))
