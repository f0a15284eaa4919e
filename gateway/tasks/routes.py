"""`/v1/tasks`: submit, inspect and control multi-agent tasks."""

from contextlib import nullcontext
from typing import Annotated, Any

from fastapi import APIRouter, Body, Query, Request

from purser.activities.tasks.file import TaskFile
from purser.activities.tasks.pitfalls import task_pitfalls
from purser.gateway.access.auth import Runner, WorkReader
from purser.gateway.access.roles import Permission, Principal, Role
from purser.gateway.http.bodies import run_off_loop
from purser.gateway.http.pagination import Cursor, PageSize
from purser.gateway.http.routing import Route, size_of
from purser.gateway.services import Services, Use
from purser.gateway.sessions.resolved import context_view
from purser.gateway.tasks.control import Steer, steer
from purser.gateway.tasks.submission import personal_of, submitted_before, undone, with_models
from purser.wire.base import PageOf
from purser.wire.tasks import TaskAccepted, TaskSubmitted, TaskView, WholeTaskView
from purser.wire.windows import ContextView
from purser.workflows.contract import TaskRef, TaskStatus

router = APIRouter(route_class=Route, prefix="/v1/tasks", tags=["tasks"])


@router.post("", status_code=202)
async def submit(
    body: Annotated[dict[str, Any], Body()],
    caller: Runner,
    use: Use,
    request: Request,
    dry_run: Annotated[bool, Query(description="Check the task file, and store and start nothing.")] = False,
) -> TaskSubmitted:
    """Stores a task file and starts its workflow. Submitting the same file again has no effect.

    With `dry_run` the answer is that of a submission, and nothing is stored or started.
    """
    personal = await personal_of(use, caller.tenant, body)
    task = await submitted_before(body, use, caller.tenant, size_of(request))
    if task is None:
        filled = with_models(body, use, personal)
        rules = [use.allowed_tools.faults, *([] if caller.role is Role.ADMIN else [use.ceilings.faults])]
        task = await run_off_loop(size_of(request), TaskFile.parse, filled, use.allowed_api_bases, rules)
        async with undone(use.pool) if dry_run else nullcontext() as connection:
            await use.tasks.submit(
                caller.tenant,
                task,
                task.submitter or caller.name,
                connection,
                submitted_by=caller.name,
                vouched=caller.may(Permission.ACT_FOR_OTHERS),
                tags_of_key=caller.tags,
            )
        if not dry_run:
            if task.user_id:
                use.payers.forget(caller.tenant, task.session_id)
            use.wake()
    warnings = task_pitfalls(task, use.context, use.ledger.settings.defaults, personal)
    accepted = _accepted(caller, task.task_id, request)
    return TaskSubmitted(**accepted.model_dump(), warnings=[f"{one.message}. {one.remedy}" for one in warnings])


@router.get("", response_model=PageOf[TaskView])
async def list_tasks(
    caller: WorkReader,
    use: Use,
    state: Annotated[TaskStatus | None, Query()] = None,
    cursor: Cursor = None,
    limit: PageSize = 100,
) -> dict[str, Any]:
    """Lists tasks, newest first."""
    page = await use.tasks.list(caller.tenant, state, limit, cursor)
    return {"items": [dict(task) for task in page.tasks], "cursor": page.cursor}


@router.get("/{task_id}", response_model=WholeTaskView)
async def show(task_id: str, caller: WorkReader, use: Use) -> dict[str, Any]:
    """Returns a task with its agents, their replies and usage, and the budgets on which it draws."""
    task = await use.tasks.get(caller.tenant, task_id)
    budgets = await use.policies.budgets_of(caller.tenant, task["scopes"], task_id)
    return task | {
        "scopes": {str(budget.scope): budget.to_json() for budget in budgets},
        "context": await context_of(use, caller.tenant, task_id),
    }


@router.post("/{task_id}/pause", status_code=202)
async def pause(task_id: str, caller: Runner, use: Use, request: Request) -> TaskAccepted:
    """Pauses a task before its next model call; nothing is held while it is paused."""
    await steer(use, caller, task_id, Steer.PAUSE)
    return _accepted(caller, task_id, request)


@router.post("/{task_id}/resume", status_code=202)
async def resume(task_id: str, caller: Runner, use: Use, request: Request) -> TaskAccepted:
    """Resumes a paused task."""
    await steer(use, caller, task_id, Steer.RESUME)
    return _accepted(caller, task_id, request)


@router.post("/{task_id}/cancel", status_code=202)
async def cancel(task_id: str, caller: Runner, use: Use, request: Request) -> TaskAccepted:
    """Cancels a task within seconds and releases its holds. Cancelling it again has no effect."""
    await steer(use, caller, task_id, Steer.CANCEL)
    return _accepted(caller, task_id, request)


READS = tuple(route for route in router.routes if isinstance(route, Route) and route.endpoint in (list_tasks, show))
"""The endpoints that `DirectRoutes` serves."""


async def context_of(use: Services, tenant: str, task_id: str) -> ContextView | None:
    """The settings of a task's windows with their sources; `None` if its file was deleted with the session."""
    file = await use.tasks.file(tenant, task_id)
    if file is None:
        return None
    personal = await use.sessions.settings.personal(tenant, file.session_id)
    return context_view(file.resolved_context(use.context, personal))


def _accepted(caller: Principal, task_id: str, request: Request) -> TaskAccepted:
    workflow_id = TaskRef(task_id, caller.tenant).workflow_id
    status_url = f"{request.base_url}v1/tasks/{task_id}"
    return TaskAccepted(task_id=task_id, workflow_id=workflow_id, status_url=status_url)
