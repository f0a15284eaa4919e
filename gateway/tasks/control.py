"""Pausing, resuming and cancelling tasks, for endpoints and pages."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Any

from temporalio.client import WorkflowHandle
from temporalio.service import RPCError

from purser.activities.runtime.rpc import RPC_TIMEOUT
from purser.activities.tasks.vanished import LOST_FOR, is_gone
from purser.gateway.access.roles import Principal
from purser.gateway.errors import TaskEnded, TemporalUnavailable
from purser.gateway.services import Services
from purser.wire.enums import LIVE_TASKS
from purser.workflows.contract import Message, TaskRef, TaskStatus

START_BACKOFF_S = (0.0, 0.1, 0.2, 0.4, 0.8, 1.6)
"""Delays before each attempt while the workflow of a new task starts."""

Handle = WorkflowHandle[Any, Any]


class Steer(StrEnum):
    """Operations on a running task."""

    PAUSE = "pause"
    """Stops before the next model call; once running calls have finished, a paused task holds nothing."""
    RESUME = "resume"
    CANCEL = "cancel"
    """Ends it within seconds and releases its holds. Cancelling it again has no effect."""


@dataclass(frozen=True, slots=True)
class _Operation:
    act: Callable[[Handle], Awaitable[None]]
    goal: TaskStatus | None = None
    """A final status in which repeating the operation is no error."""


_OPERATIONS: Mapping[Steer, _Operation] = {
    Steer.PAUSE: _Operation(lambda workflow: workflow.signal(Message.PAUSE, rpc_timeout=RPC_TIMEOUT)),
    Steer.RESUME: _Operation(lambda workflow: workflow.signal(Message.RESUME, rpc_timeout=RPC_TIMEOUT)),
    Steer.CANCEL: _Operation(lambda workflow: workflow.cancel(rpc_timeout=RPC_TIMEOUT), TaskStatus.CANCELLED),
}


async def steer(use: Services, caller: Principal, task_id: str, how: Steer) -> None:
    """Sends an operation to the task's workflow, waiting for a new one to start; first records the actor.

    The caller must have checked the permission to run tasks.

    Raises:
        TaskNotFound: this tenant has no such task.
        TaskEnded: the task has ended with another status.
        TemporalUnavailable: it may not have been sent. Sending it again has no further effect.
    """
    operation, is_recorded = _OPERATIONS[how], False
    ref = TaskRef(task_id, caller.tenant)
    await _end_if_vanished(use, ref, how)
    for seconds in START_BACKOFF_S:
        await asyncio.sleep(seconds)
        status = (await use.tasks.get(caller.tenant, task_id))["status"]
        if status == operation.goal:
            return
        if status not in LIVE_TASKS:
            raise TaskEnded(f"task {task_id!r} is {status}: it cannot be controlled any more")
        if not is_recorded:
            await use.tasks.steered(caller.tenant, task_id, how, by=caller, before=status)
            is_recorded = True
        try:
            await operation.act(use.temporal.get_workflow_handle(ref.workflow_id))
        except (RPCError, RuntimeError) as error:
            if not isinstance(error, RPCError) or not is_gone(error):
                raise TemporalUnavailable.of(error, ": the operation may not have been sent") from error
        else:
            return
        use.wake()
    raise TemporalUnavailable(
        f"task {task_id!r} has no workflow: it has not started yet, or Temporal lost it; nothing was sent"
    )


async def _end_if_vanished(use: Services, ref: TaskRef, how: Steer) -> None:
    """Ends a task whose workflow was terminated: Temporal accepts a cancel for it without any effect."""
    if (await use.tasks.get(ref.tenant, ref.task_id))["status"] not in LIVE_TASKS:
        return
    try:
        # If Temporal does not know a task that is cancelled, it must not be started any more.
        await use.vanished.ended(ref, timedelta(0) if how is Steer.CANCEL else LOST_FOR)
    except (RPCError, RuntimeError) as error:
        raise TemporalUnavailable.of(error, ": nothing was sent") from error
