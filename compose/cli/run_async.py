"""Running coroutines from commands."""

import asyncio
import gc
import sys
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

import uvloop

from purser.compose.cli.output import SafeConsole
from purser.compose.signals import stop_signals

if TYPE_CHECKING:
    from purser.budget.postgres.connections.pools import Pool
    from purser.compose.settings import Settings

T = TypeVar("T")

# Threads of the Temporal client may abort an interpreter that exits right after its loop (temporalio/sdk-python#300).
GRACE_S = 0.5

YOUNG_COLLECTION_AFTER, MIDDLE_COLLECTION_AFTER = 700, 10
"""New objects, and collections of these, between two collections; both are Python's defaults."""
FULL_COLLECTION_AFTER = 100
"""Collections of the middle generation between two full collections; Python's default is 10."""
SWITCH_INTERVAL_S = 0.001
"""Seconds that another thread computes before the event loop gets its turn; Python's default of 5 ms applies to each of
the dozens of reads and writes of one request."""


def run_to_end(main: Awaitable[T]) -> T:
    """Run a coroutine that may connect to Temporal."""

    async def run() -> T:
        try:
            return await main
        finally:
            await asyncio.sleep(GRACE_S)

    return uvloop.run(run())


def run_on_pool(settings: "Settings", work: "Callable[[Pool], Awaitable[T]]") -> T:
    """Run a coroutine that takes a pool of the configured database, whether the stack is up or down.

    Raises:
        SchemaMismatch: the database has an older schema, or none.
    """
    from purser.compose.migrate import migrated_pool

    async def run() -> T:
        async with migrated_pool(settings) as pool:
            return await work(pool)

    return asyncio.run(run())


def freeze_heap() -> None:
    """Exclude all objects that exist once a process serves from garbage collection, and collect the rest less often.

    They live as long as the process, and each full collection stopped every request for a quarter of a second. What
    thousands of event streams add takes as long: full collections follow 700,000 new objects, not 70,000.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG_COLLECTION_AFTER, MIDDLE_COLLECTION_AFTER, FULL_COLLECTION_AFTER)


async def noting_stop(work: Coroutine[Any, Any, None], stop: asyncio.Event) -> None:
    """Run `work`, which ends some time after `stop` is set, and say at once that it stops."""
    from purser.activities.runtime.background import first_of

    working = asyncio.create_task(work)
    await first_of(asyncio.wait([working]), stop.wait())
    if not working.done():
        with suppress(OSError):  # the terminal is closed
            SafeConsole(stderr=True).print("Stopping …")
    await working


def until_stopped(main: Callable[[asyncio.Event], Awaitable[None]]) -> None:
    """Run `main(stop)`; ctrl-C, SIGTERM and the end of the terminal set `stop`."""
    sys.setswitchinterval(SWITCH_INTERVAL_S)

    async def run() -> None:
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in stop_signals():
            loop.add_signal_handler(number, stop.set)
        await main(stop)

    run_to_end(run())
