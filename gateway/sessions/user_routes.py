"""`/v1/sessions`: the list; `/v1/users`: personal settings; `/v1/retention`: how long sessions are kept."""

from typing import Annotated

from fastapi import APIRouter, Query

from purser.gateway.access.auth import SessionDeleter, SessionWriter, WorkReader
from purser.gateway.http.pagination import NameCursor, PageSize, name_after, name_cursor
from purser.gateway.http.routing import Route
from purser.gateway.services import Use
from purser.gateway.sessions.schemas import USER_ID, Fields, UserId
from purser.wire.base import PageOf
from purser.wire.sessions import RetentionBody, RetentionView, SessionView, SettingsView

router = APIRouter(route_class=Route, prefix="/v1", tags=["sessions"])


@router.get("/sessions")
async def list_sessions(
    caller: WorkReader,
    use: Use,
    user_id: Annotated[str | None, Query(pattern=USER_ID, description="Only sessions of this user.")] = None,
    cursor: NameCursor = None,
    limit: PageSize = 100,
) -> PageOf[SessionView]:
    """Lists sessions that have not been deleted, newest first."""
    before = None
    if cursor is not None:
        [at], session_id = name_after(cursor, times=1)
        before = at, session_id
    found = await use.pages.sessions.page(caller.tenant, user_id=user_id, before=before, limit=limit)
    last = found[-1] if len(found) == limit else None
    following = name_cursor(last.created_at, name=last.session_id) if last else None
    return PageOf[SessionView](items=[SessionView.model_validate(row) for row in found], cursor=following)


@router.get("/users/{user_id}/settings")
async def show_settings(caller: WorkReader, use: Use, user_id: UserId) -> SettingsView:
    """Returns the personal settings of a user; empty if none were set."""
    return SettingsView.model_validate(await use.sessions.settings.of_user(caller.tenant, user_id))


@router.put("/users/{user_id}/settings")
async def set_settings(caller: SessionWriter, use: Use, user_id: UserId, body: Fields) -> SettingsView:
    """Replaces the personal settings of a user, with which windows begin: any fields with any values."""
    return SettingsView.model_validate(
        await use.sessions.settings.set_for_user(caller.tenant, user_id, body, by=caller)
    )


@router.delete("/users/{user_id}/settings")
async def delete_settings(caller: SessionDeleter, use: Use, user_id: UserId) -> SettingsView:
    """Deletes the personal settings of a user, with the fields of all earlier versions. The next version is empty.

    Deleting them again has no effect.
    """
    return SettingsView.model_validate(await use.sessions.settings.delete_for_user(caller.tenant, user_id, by=caller))


@router.get("/retention")
async def show_retention(caller: WorkReader, use: Use) -> RetentionView:
    """Returns how long the sessions of this tenant are kept."""
    return RetentionView.model_validate(await use.sessions.retention.policy(caller.tenant))


@router.put("/retention")
async def set_retention(caller: SessionDeleter, use: Use, body: RetentionBody) -> RetentionView:
    """Sets for how many days after the day of their last append sessions are kept; the sweeper deletes older ones."""
    return RetentionView.model_validate(await use.sessions.retention.set_policy(caller.tenant, body.days, by=caller))
