"""Pausing, resuming and cancelling tasks: what endpoints and pages do alike."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Any

from temporalio.client import WorkflowHandle
from temporalio.service import RPCError, RPCStatusCode

from purser.activities.tasks.vanished import LOST_FOR
from purser.gateway.access.roles import Principal
from purser.gateway.errors import TaskEnded, TemporalUnavailable
from purser.gateway.services import Services
from purser.workflows.contract import Message, TaskRef, TaskStatus

RPC_TIMEOUT = timedelta(seconds=5)
START_PATIENCE_S = (0.0, 0.1, 0.2, 0.4, 0.8, 1.6)
"""Pauses while a task that was just submitted gets its workflow."""
LIVE = frozenset({TaskStatus.RUNNING, TaskStatus.PAUSED, TaskStatus.WAITING_APPROVAL})

Handle = WorkflowHandle[Any, Any]


class Steer(StrEnum):
    """What can be done to a task that runs."""

    PAUSE = "pause"
    """Stops before the next model call; nothing is held while a task is paused."""
    RESUME = "resume"
    CANCEL = "cancel"
    """Ends it within seconds and releases what it holds. Cancelling it again changes nothing."""


@dataclass(frozen=True, slots=True)
class _Way:
    act: Callable[[Handle], Awaitable[None]]
    goal: TaskStatus | None = None
    """An end that makes doing it again no error."""


_WAYS: Mapping[Steer, _Way] = {
    Steer.PAUSE: _Way(lambda workflow: workflow.signal(Message.PAUSE, rpc_timeout=RPC_TIMEOUT)),
    Steer.RESUME: _Way(lambda workflow: workflow.signal(Message.RESUME, rpc_timeout=RPC_TIMEOUT)),
    Steer.CANCEL: _Way(lambda workflow: workflow.cancel(rpc_timeout=RPC_TIMEOUT), TaskStatus.CANCELLED),
}


async def steer(use: Services, caller: Principal, task_id: str, how: Steer) -> None:
    """Tells the task's workflow, waiting for it to start if the task is new; records before who does.

    The caller's permission to run tasks is checked before.

    Raises:
        TaskNotFound: this tenant has no such task.
        TaskEnded: it has ended otherwise.
        TemporalUnavailable: nothing was sent.
    """
    way, is_recorded = _WAYS[how], False
    workflow_id = TaskRef(task_id, caller.tenant).workflow_id
    await _end_if_vanished(use, TaskRef(task_id, caller.tenant), how)
    for seconds in START_PATIENCE_S:
        await asyncio.sleep(seconds)
        status = (await use.tasks.get(caller.tenant, task_id))["status"]
        if status == way.goal:
            return
        if status not in LIVE:
            raise TaskEnded(f"task {task_id!r} is {status}: it cannot be steered any more")
        if not is_recorded:
            await use.tasks.steered(caller.tenant, task_id, how, by=caller, before=status)
            is_recorded = True
        try:
            await way.act(use.temporal.get_workflow_handle(workflow_id))
        except RPCError as error:
            if error.status is not RPCStatusCode.NOT_FOUND:
                raise TemporalUnavailable(f"Temporal did not answer ({error.status.name}): nothing was sent") from error
        else:
            return
        use.wake()
    raise TemporalUnavailable(
        f"task {task_id!r} has no workflow: it has not started yet, or Temporal lost it; nothing was sent"
    )


async def _end_if_vanished(use: Services, ref: TaskRef, how: Steer) -> None:
    """A cancel that is sent to a workflow that was terminated is answered as if it had reached somebody."""
    if (await use.tasks.get(ref.tenant, ref.task_id))["status"] not in LIVE:
        return
    try:
        # Who cancels a task that Temporal does not know wants no start of it any more.
        await use.vanished.ended(ref, timedelta(0) if how is Steer.CANCEL else LOST_FOR)
    except RPCError as error:
        raise TemporalUnavailable(f"Temporal did not answer ({error.status.name}): nothing was sent") from error
