"""Running coroutines from commands."""

import asyncio
import gc
import signal
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")

# Threads of the Temporal client may abort an interpreter that exits right after its loop (temporalio/sdk-python#300).
GRACE_S = 0.5


def run_to_end(main: Awaitable[T]) -> T:
    """Run a coroutine that may connect to Temporal."""

    async def run() -> T:
        try:
            return await main
        finally:
            await asyncio.sleep(GRACE_S)

    return asyncio.run(run())


def freeze_heap() -> None:
    """Exclude all objects that exist once a process serves from garbage collection.

    They live as long as the process, and each full collection stopped every request for a quarter of a second.
    """
    gc.collect()
    gc.freeze()


def until_stopped(main: Callable[[asyncio.Event], Awaitable[None]]) -> None:
    """Run `main(stop)`; ctrl-C and SIGTERM set `stop`."""

    async def run() -> None:
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, stop.set)
        await main(stop)

    run_to_end(run())
