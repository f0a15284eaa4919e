"""`/v1/changes`: the change log."""

from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Query

from purser.gateway.access.auth import Reader
from purser.gateway.http.pagination import Cursor, PageSize
from purser.gateway.http.routing import Route
from purser.gateway.http.time_ranges import Since, Until, check_span
from purser.gateway.services import Use
from purser.wire.base import PageOf, View

router = APIRouter(route_class=Route, prefix="/v1/changes", tags=["changes"])


class ChangeView(View):
    """One change to a policy, key, sign-in, session, task, approval or webhook."""

    change_id: str
    at: datetime
    by: str
    """Name of the key or of the component of Purser that acted."""
    key_id: str | None
    """`null` if no key acted."""
    action: str
    """`policy.set`, `key.create`, …"""
    target: str
    """The changed object: `session:s1`, `key:key-…`, …"""
    before: dict[str, Any] | None
    """`null`: it did not exist before."""
    after: dict[str, Any] | None
    """`null`: it does not exist any more."""


@router.get("")
async def list_changes(
    caller: Reader,
    use: Use,
    target: Annotated[
        str | None, Query(max_length=512, description="The changed object, for example session:s1.")
    ] = None,
    by: Annotated[str | None, Query(max_length=128, description="Name of the key that changed it.")] = None,
    action: Annotated[str | None, Query(max_length=128, description="For example policy.set.")] = None,
    since: Since = None,
    until: Until = None,
    cursor: Cursor = None,
    limit: PageSize = 100,
) -> PageOf[ChangeView]:
    """Lists changes to policies, keys, sign-ins, sessions, tasks, approvals and webhooks, newest first."""
    check_span(since, until)
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
    items = [ChangeView(**change.to_json()) for change in changes]
    return PageOf[ChangeView](items=items, cursor=None if following is None else str(following))
