"""Run a long-lived coroutine until it ends or the user ends it."""

import asyncio
import signal
from collections.abc import Awaitable, Callable

# Threads of the Temporal client may abort an interpreter that exits right after its loop (temporalio/sdk-python#300).
GRACE_S = 0.5


def until_stopped(main: Callable[[asyncio.Event], Awaitable[None]]) -> None:
    """Run `main(stop)`; ctrl-C and SIGTERM set `stop`."""

    async def run() -> None:
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, stop.set)
        try:
            await main(stop)
        finally:
            await asyncio.sleep(GRACE_S)

    asyncio.run(run())
