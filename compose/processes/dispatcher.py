"""Background work of every process: the sweeper, approval deadlines, and the dispatch of the outbox to Temporal.

Any number of processes may run it: each claims rows that no other has claimed. While the ledger or Temporal does not
answer, it waits.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial

import structlog
from temporalio.client import Client
from temporalio.common import WorkflowIDConflictPolicy, WorkflowIDReusePolicy
from temporalio.exceptions import WorkflowAlreadyStartedError
from temporalio.service import RPCError

from purser.activities.runtime.background import repeat, run_together
from purser.activities.runtime.rpc import RPC_TIMEOUT
from purser.activities.runtime.stores import Stores
from purser.activities.tasks.vanished import is_gone
from purser.budget.postgres.events.outbox import Outbox, OutboxMessage
from purser.workflows.contract import START, TASK_QUEUE, TaskRef, WorkflowName

BATCH = 50
SWEPT = 100
"""Most rows that one sweep ends of a kind."""

log = structlog.get_logger(__name__)


class Dispatcher:
    """Delivers the messages of the outbox to their workflows, at least once."""

    def __init__(self, outbox: Outbox, client: Client, task_queue: str = TASK_QUEUE) -> None:
        self._outbox = outbox
        self._client = client
        self._task_queue = task_queue
        self.poked = asyncio.Event()

    def poke(self) -> None:
        """Dispatch now: a message was just committed."""
        self.poked.set()

    async def dispatch(self) -> None:
        """Send all due messages; stops early when one could not be sent."""
        while messages := await self._outbox.claim(BATCH):
            if not all(await asyncio.gather(*(self._deliver(message) for message in messages))):
                return

    async def _deliver(self, message: OutboxMessage) -> bool:
        try:
            await (self._start(message) if message.signal == START else self._signal(message))
        except (RPCError, RuntimeError) as error:
            # The payload and the server's message stay out of the log.
            status = error.status.name if isinstance(error, RPCError) else type(error).__name__
            log.warning("a message did not reach its workflow", outbox_id=message.outbox_id, status=status)
            await self._outbox.failed(message)
            return False
        await self._outbox.sent(message)
        return True

    async def _signal(self, message: OutboxMessage) -> None:
        workflow = self._client.get_workflow_handle(message.workflow_id)
        try:
            await workflow.signal(message.signal, dict(message.payload), rpc_timeout=RPC_TIMEOUT)
        except RPCError as error:
            if not is_gone(error):
                raise

    async def _start(self, message: OutboxMessage) -> None:
        # A workflow that has completed is not run again.
        with suppress(WorkflowAlreadyStartedError):
            await self._client.start_workflow(
                WorkflowName.AGENT_TASK,
                TaskRef(**message.payload),
                id=message.workflow_id,
                task_queue=self._task_queue,
                id_reuse_policy=WorkflowIDReusePolicy.REJECT_DUPLICATE,
                id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
                # A worker of this client begins at once, without a round through the queue.
                request_eager_start=True,
                rpc_timeout=RPC_TIMEOUT,
            )


async def run_background(stores: Stores, dispatcher: Dispatcher, stop: asyncio.Event, every_s: float) -> None:
    """Sweep, expire approval requests or remind of them, and dispatch, every `every_s` seconds until `stop` is set."""
    await run_together(
        repeat("sweep", partial(_sweep, stores.ledger.sweep, stop), stop, every_s),
        repeat("approvals", partial(_sweep, stores.approvals.expire_due, stop), stop, every_s),
        repeat("reminders", stores.reminders.send_due, stop, every_s),
        repeat("outbox", dispatcher.dispatch, stop, every_s, dispatcher.poked),
    )


async def _sweep(end_due: Callable[[int], Awaitable[int]], stop: asyncio.Event) -> None:
    """Ends what is due, again at once while one sweep ended as much as it may: a backlog does not wait for the next."""
    while await end_due(SWEPT) >= SWEPT and not stop.is_set():
        pass
