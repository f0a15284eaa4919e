"""`/v1/tasks`: submit, look at and steer multi-agent tasks."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Annotated, Any

from fastapi import APIRouter, Body, Query, Request
from temporalio.client import WorkflowHandle
from temporalio.service import RPCError, RPCStatusCode

from activities.task_file import TaskFile
from budget.scopes import Kind, Scope, agent_scope
from gateway.auth import Runner, WorkReader
from gateway.errors import TaskEnded, TemporalUnavailable
from gateway.pages import Cursor, Page, PageSize
from gateway.roles import Principal
from gateway.services import Services, Use
from gateway.views import TaskAccepted
from workflows.contract import Message, TaskStatus

router = APIRouter(prefix="/v1/tasks", tags=["tasks"])

RPC_TIMEOUT = timedelta(seconds=5)
START_PATIENCE_S = (0.0, 0.1, 0.2, 0.4, 0.8, 1.6)
"""Pauses while a task that was just submitted gets its workflow."""
LIVE = frozenset({TaskStatus.RUNNING, TaskStatus.PAUSED, TaskStatus.WAITING_APPROVAL})

Handle = WorkflowHandle[Any, Any]


@router.post("", status_code=202)
async def submit(body: Annotated[dict[str, Any], Body()], caller: Runner, use: Use, request: Request) -> TaskAccepted:
    """Stores a task file and starts its workflow. The same file again changes nothing."""
    task = TaskFile.parse(body, use.allowed_api_bases)
    await use.tasks.submit(caller.tenant, task, task.submitter or caller.name)
    use.wake()
    return _accepted(task.task_id, request)


@router.get("")
async def list_tasks(
    caller: WorkReader,
    use: Use,
    state: Annotated[TaskStatus | None, Query()] = None,
    cursor: Cursor = None,
    limit: PageSize = 100,
) -> Page:
    """Tasks, newest first."""
    page = await use.tasks.list(caller.tenant, state, limit, cursor)
    return Page(items=[dict(task) for task in page.tasks], cursor=page.cursor)


@router.get("/{task_id}")
async def show(task_id: str, caller: WorkReader, use: Use) -> dict[str, Any]:
    """A task: its agents, what they replied and used, and the budgets that it draws on."""
    task = await use.tasks.get(caller.tenant, task_id)
    scopes = [
        Scope(Kind.SESSION, task["session_id"]),
        Scope(Kind.TASK, task_id),
        *(agent_scope(task_id, agent_id) for agent_id in task["agents"]),
    ]
    budgets = await use.policies.budgets_of(caller.tenant, scopes, task_id)
    return task | {"scopes": {str(budget.scope): budget.to_json() for budget in budgets}}


@router.post("/{task_id}/pause", status_code=202)
async def pause(task_id: str, caller: Runner, use: Use, request: Request) -> TaskAccepted:
    """Stops before the next model call; nothing is held while a task is paused."""
    await _steer(task_id, caller, use, lambda workflow: workflow.signal(Message.PAUSE, rpc_timeout=RPC_TIMEOUT))
    return _accepted(task_id, request)


@router.post("/{task_id}/resume", status_code=202)
async def resume(task_id: str, caller: Runner, use: Use, request: Request) -> TaskAccepted:
    """Goes on."""
    await _steer(task_id, caller, use, lambda workflow: workflow.signal(Message.RESUME, rpc_timeout=RPC_TIMEOUT))
    return _accepted(task_id, request)


@router.post("/{task_id}/cancel", status_code=202)
async def cancel(task_id: str, caller: Runner, use: Use, request: Request) -> TaskAccepted:
    """Ends a task within seconds and releases what it holds. Cancelling it again changes nothing."""
    await _steer(task_id, caller, use, lambda workflow: workflow.cancel(rpc_timeout=RPC_TIMEOUT), TaskStatus.CANCELLED)
    return _accepted(task_id, request)


async def _steer(
    task_id: str,
    caller: Principal,
    use: Services,
    act: Callable[[Handle], Awaitable[None]],
    goal: TaskStatus | None = None,
) -> None:
    """Sends `act` to the task's workflow, waiting for it to start if the task is new.

    Raises:
        TaskNotFound: this tenant has no such task.
        TaskEnded: it has ended, and not as `goal`.
        TemporalUnavailable: nothing was sent.
    """
    for seconds in START_PATIENCE_S:
        await asyncio.sleep(seconds)
        status = (await use.tasks.get(caller.tenant, task_id))["status"]
        if status == goal:
            return
        if status not in LIVE:
            raise TaskEnded(f"task {task_id!r} is {status}: it cannot be steered any more")
        try:
            await act(use.temporal.get_workflow_handle(_workflow_id(task_id)))
            return
        except RPCError as error:
            if error.status is not RPCStatusCode.NOT_FOUND:
                raise TemporalUnavailable(f"Temporal did not answer ({error.status.name}): nothing was sent") from error
        use.wake()
    raise TemporalUnavailable(f"task {task_id!r} has not started yet: nothing was sent")


def _accepted(task_id: str, request: Request) -> TaskAccepted:
    status_url = f"{request.base_url}v1/tasks/{task_id}"
    return TaskAccepted(task_id=task_id, workflow_id=_workflow_id(task_id), status_url=status_url)


def _workflow_id(task_id: str) -> str:
    return f"task-{task_id}"
