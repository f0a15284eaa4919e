"""`/v1/tasks/{task_id}/calls`: the model calls of a task, and what each of them saw."""

from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Query

from purser.gateway.access.auth import WorkReader
from purser.gateway.http.pagination import NameCursor, PageSize, name_after, name_cursor
from purser.gateway.http.routing import Route
from purser.gateway.services import Use
from purser.gateway.tasks.call_views import call_view, call_window_view
from purser.wire.base import PageOf
from purser.wire.tasks import CallView, CallWindowView

router = APIRouter(route_class=Route, prefix="/v1/tasks/{task_id}/calls", tags=["tasks"])


@router.get("", response_model=PageOf[CallView])
async def list_calls(
    task_id: str,
    caller: WorkReader,
    use: Use,
    agent: Annotated[str | None, Query(max_length=512, description="Only calls of this agent.")] = None,
    turn: Annotated[int | None, Query(ge=1, le=2**31 - 1, description="Only calls of this turn.")] = None,
    cursor: NameCursor = None,
    limit: PageSize = 100,
) -> dict[str, Any]:
    """Lists the calls of a task, newest first: how each window was cut, and its size."""
    await use.tasks.get(caller.tenant, task_id)
    found = await use.calls.of_task(
        caller.tenant, task_id, agent_id=agent, turn=turn, after=_after(cursor), limit=limit
    )
    last = found[-1] if len(found) == limit else None
    following = name_cursor(last.at, name=last.call.key) if last else None
    return {"items": [call_view(one) for one in found], "cursor": following}


@router.get("/{call}/window")
async def call_window(task_id: str, call: str, caller: WorkReader, use: Use) -> CallWindowView:
    """Returns what a call saw: what is verbatim, clipped, cleared, summarized by which version, or dropped, and why."""
    return call_window_view(await use.calls.of_key(caller.tenant, task_id, call))


def _after(cursor: str | None) -> tuple[datetime, str] | None:
    if cursor is None:
        return None
    [at], key = name_after(cursor, times=1)
    return at, key
