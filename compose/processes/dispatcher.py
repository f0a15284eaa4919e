"""What runs beside requests and tasks: the sweeper, approval deadlines, and the outbox's way to Temporal.

Any number of processes may run it: each takes what no other has in hand. While the ledger or Temporal is away it waits.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import timedelta

import structlog
from temporalio.client import Client
from temporalio.common import WorkflowIDConflictPolicy, WorkflowIDReusePolicy
from temporalio.exceptions import WorkflowAlreadyStartedError
from temporalio.service import RPCError

from purser.activities.tasks.vanished import Vanished, is_gone
from purser.budget.postgres.approvals.approvals import Approvals
from purser.budget.postgres.events.outbox import Outbox, Parcel
from purser.budget.postgres.ledger.checkpoints import EVERY_S, Checkpoints
from purser.budget.postgres.ledger.ledger import Ledger
from purser.budget.postgres.reports.burn import SAMPLE_EVERY_S, Burn
from purser.context.postgres.sessions.retention import Retention
from purser.workflows.contract import START, TASK_QUEUE, TaskRef, WorkflowName

BATCH = 50
MAX_BACKOFF_S = 30.0
RPC_TIMEOUT = timedelta(seconds=5)

log = structlog.get_logger(__name__)


class Dispatcher:
    """Sends what the outbox holds to its workflows, at least once."""

    def __init__(self, outbox: Outbox, client: Client, task_queue: str = TASK_QUEUE) -> None:
        self._outbox = outbox
        self._client = client
        self._task_queue = task_queue
        self.poked = asyncio.Event()

    def poke(self) -> None:
        """Something was just committed: send it now."""
        self.poked.set()

    async def dispatch(self) -> None:
        """Sends what is due; stops early when something could not be sent."""
        while parcels := await self._outbox.claim(BATCH):
            if not all(await asyncio.gather(*(self._deliver(parcel) for parcel in parcels))):
                return

    async def _deliver(self, parcel: Parcel) -> bool:
        try:
            await (self._start(parcel) if parcel.signal == START else self._signal(parcel))
        except (RPCError, RuntimeError) as error:
            # The payload and the server's words stay out of the log.
            status = error.status.name if isinstance(error, RPCError) else type(error).__name__
            log.warning("a message did not reach its workflow", outbox_id=parcel.outbox_id, status=status)
            await self._outbox.failed(parcel)
            return False
        await self._outbox.sent(parcel)
        return True

    async def _signal(self, parcel: Parcel) -> None:
        workflow = self._client.get_workflow_handle(parcel.workflow_id)
        try:
            await workflow.signal(parcel.signal, dict(parcel.payload), rpc_timeout=RPC_TIMEOUT)
        except RPCError as error:
            if not is_gone(error):
                raise

    async def _start(self, parcel: Parcel) -> None:
        # A workflow that has run to its end is not run again.
        with suppress(WorkflowAlreadyStartedError):
            await self._client.start_workflow(
                WorkflowName.AGENT_TASK,
                TaskRef(**parcel.payload),
                id=parcel.workflow_id,
                task_queue=self._task_queue,
                id_reuse_policy=WorkflowIDReusePolicy.REJECT_DUPLICATE,
                id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
                rpc_timeout=RPC_TIMEOUT,
            )


async def run_background(
    ledger: Ledger,
    approvals: Approvals,
    dispatcher: Dispatcher,
    stop: asyncio.Event,
    every_s: float,
    retention: Retention | None = None,
    burn: Burn | None = None,
    vanished: Vanished | None = None,
    checkpoints: Checkpoints | None = None,
) -> None:
    """Sweeps, ends approval requests and dispatches about every `every_s` seconds, until `stop`.

    With `retention` also deletes the sessions whose time has come, with `burn` samples balances once a minute,
    with `vanished` ends tasks whose workflow is gone, with `checkpoints` closes ranges of entries once a minute.
    """
    async with asyncio.TaskGroup() as loops:
        if retention is not None:
            loops.create_task(repeat("retention", retention.sweep, stop, every_s))
        if burn is not None:
            loops.create_task(repeat("burn", burn.sample, stop, SAMPLE_EVERY_S))
        if checkpoints is not None:
            loops.create_task(repeat("checkpoints", checkpoints.make, stop, EVERY_S))
        if vanished is not None:
            loops.create_task(repeat("vanished", vanished.sweep, stop, every_s))
        loops.create_task(repeat("sweep", ledger.sweep, stop, every_s))
        loops.create_task(repeat("approvals", approvals.expire_due, stop, every_s))
        loops.create_task(repeat("outbox", dispatcher.dispatch, stop, every_s, dispatcher.poked))


async def repeat(
    name: str,
    step: Callable[[], Awaitable[object]],
    stop: asyncio.Event,
    every_s: float,
    poked: asyncio.Event | None = None,
) -> None:
    """Runs `step` about every `every_s` seconds or when poked, until `stop`; ever less often while it fails."""
    failures = 0
    while not stop.is_set():
        if poked is not None:
            poked.clear()
        try:
            await step()
            failures = 0
        except Exception as error:
            failures += 1
            log.warning("background work failed and will be tried again", step=name, error=type(error).__name__)
        # Jitter keeps processes that started together from asking together.
        pause = min(every_s * 2**failures, max(every_s, MAX_BACKOFF_S)) * random.uniform(0.8, 1.2)
        await _first(pause, stop, *(() if poked is None else (poked,)))


async def _first(timeout_s: float, *events: asyncio.Event) -> None:
    waits = [asyncio.create_task(event.wait()) for event in events]
    await asyncio.wait(waits, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
    for wait in waits:
        wait.cancel()
