"""Pollers and backlog of the task queue, from Temporal."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from temporalio.api.enums.v1 import TaskQueueType
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflowservice.v1 import DescribeTaskQueueRequest
from temporalio.client import Client
from temporalio.service import RPCError

from purser.activities.runtime.rpc import RPC_TIMEOUT
from purser.gateway.errors import TemporalUnavailable

_TYPES = {
    "workflows": TaskQueueType.TASK_QUEUE_TYPE_WORKFLOW,
    "activities": TaskQueueType.TASK_QUEUE_TYPE_ACTIVITY,
}


@dataclass(frozen=True, slots=True)
class Poller:
    """A worker that polls for tasks."""

    identity: str
    seen_at: datetime


@dataclass(frozen=True, slots=True)
class Queue:
    """The task queue for one type of tasks."""

    kind: str
    """`workflows` or `activities`."""
    pollers: tuple[Poller, ...]
    backlog: int
    """Approximate number of tasks that wait for a worker."""
    backlog_age: timedelta
    """Age of the oldest waiting task."""


async def queues(client: Client, task_queue: str) -> list[Queue]:
    """Describes the task queue, workflows first.

    Raises:
        TemporalUnavailable: Temporal did not answer.
    """
    return [await _queue(client, task_queue, kind, number) for kind, number in _TYPES.items()]


async def _queue(client: Client, name: str, kind: str, number: "TaskQueueType.ValueType") -> Queue:
    asked = DescribeTaskQueueRequest(
        namespace=client.namespace, task_queue=TaskQueue(name=name), task_queue_type=number, report_stats=True
    )
    try:
        described = await client.workflow_service.describe_task_queue(asked, timeout=RPC_TIMEOUT)
    except (RPCError, RuntimeError) as error:
        raise TemporalUnavailable.of(error) from error
    pollers = sorted(
        (Poller(one.identity, one.last_access_time.ToDatetime(UTC)) for one in described.pollers),
        key=lambda one: one.identity,
    )
    return Queue(
        kind,
        tuple(pollers),
        described.stats.approximate_backlog_count,
        described.stats.approximate_backlog_age.ToTimedelta(),
    )
