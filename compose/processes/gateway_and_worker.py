"""Gateway and worker in one process. Importing both takes seconds."""

import asyncio
import socket
from collections.abc import Callable

from purser.activities.runtime.background import first_of, run_together
from purser.compose.processes.gateway import POOL_SIZE as GATEWAY_POOL_SIZE
from purser.compose.processes.gateway import run_gateway
from purser.compose.processes.shared import Shared, opened_ledger
from purser.compose.processes.worker import POOL_SIZE as WORKER_POOL_SIZE
from purser.compose.processes.worker import run_worker
from purser.compose.settings import Settings
from purser.compose.telemetry.metrics import ProcessMetrics
from purser.compose.temporal import connect


async def run_gateway_and_worker(
    settings: Settings, stop: asyncio.Event, ready: Callable[[], None], listener: socket.socket
) -> None:
    """Run both until `stop` is set; calls `ready` once requests are answered and the task queue is polled.

    The gateway serves on `listener`.
    """
    polling, serving = asyncio.Event(), asyncio.Event()
    async with opened_ledger(settings, WORKER_POOL_SIZE + GATEWAY_POOL_SIZE) as ledger:
        metrics = ProcessMetrics()
        shared = Shared(metrics, ledger, await connect(settings, metrics.temporal.runtime))
        await run_together(
            run_worker(settings, stop, polling.set, shared),
            run_gateway(settings, stop, serving.set, shared, listener=listener),
            _when_ready((polling, serving), stop, ready),
        )


async def _when_ready(events: tuple[asyncio.Event, ...], stop: asyncio.Event, ready: Callable[[], None]) -> None:
    for event in events:
        await first_of(event.wait(), stop.wait())
    if all(event.is_set() for event in events):
        ready()
