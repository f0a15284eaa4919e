"""`/v1/tasks`: submit, inspect and control multi-agent tasks."""

from collections.abc import Mapping
from typing import Any

from purser_client.operations.arguments import given, part
from purser_client.operations.operation import AsyncGroup, Group, Offered, Operation
from purser_client.types import CallPage, CallWindowView, TaskAccepted, TaskFile, TaskPage, TaskSubmitted, WholeTaskView


def submit(task: TaskFile | Mapping[str, Any], *, dry_run: bool | None = None) -> Operation[TaskSubmitted]:
    """Stores a task file and starts its workflow; with `dry_run` checks it, and stores and starts nothing."""
    return Operation("tasks_submit", "POST", "/v1/tasks", TaskSubmitted, task, given(dry_run=dry_run))


def show(task_id: str) -> Operation[WholeTaskView]:
    """Returns a task with its agents, their replies and usage, and the budgets on which it draws."""
    return Operation("tasks_show", "GET", f"/v1/tasks/{part(task_id)}", WholeTaskView)


def list_all(*, state: str | None = None, cursor: str | None = None, limit: int | None = None) -> Operation[TaskPage]:
    """Lists tasks, newest first."""
    query = given(state=state, cursor=cursor, limit=limit)
    return Operation("tasks_list", "GET", "/v1/tasks", TaskPage, query=query)


def pause(task_id: str) -> Operation[TaskAccepted]:
    """Pauses a task before its next model call."""
    return Operation("tasks_pause", "POST", f"/v1/tasks/{part(task_id)}/pause", TaskAccepted)


def resume(task_id: str) -> Operation[TaskAccepted]:
    """Resumes a paused task."""
    return Operation("tasks_resume", "POST", f"/v1/tasks/{part(task_id)}/resume", TaskAccepted)


def cancel(task_id: str) -> Operation[TaskAccepted]:
    """Cancels a task within seconds and releases its holds."""
    return Operation("tasks_cancel", "POST", f"/v1/tasks/{part(task_id)}/cancel", TaskAccepted)


def calls(
    task_id: str,
    *,
    agent: str | None = None,
    turn: int | None = None,
    cursor: str | None = None,
    limit: int | None = None,
) -> Operation[CallPage]:
    """Lists the calls of a task, newest first: how each window was cut, and its size."""
    query = given(agent=agent, turn=turn, cursor=cursor, limit=limit)
    return Operation("tasks_list_calls", "GET", f"/v1/tasks/{part(task_id)}/calls", CallPage, query=query)


def call_window(task_id: str, call: str) -> Operation[CallWindowView]:
    """Returns what a call saw."""
    path = f"/v1/tasks/{part(task_id)}/calls/{part(call)}/window"
    return Operation("tasks_call_window", "GET", path, CallWindowView)


class _Tasks:
    submit = Offered(submit)
    show = Offered(show)
    list = Offered(list_all)
    pause = Offered(pause)
    resume = Offered(resume)
    cancel = Offered(cancel)
    calls = Offered(calls)
    call_window = Offered(call_window)


class Tasks(_Tasks, Group):
    """Multi-agent tasks."""


class AsyncTasks(_Tasks, AsyncGroup):
    """Multi-agent tasks, to be awaited."""
