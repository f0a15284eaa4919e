"""A server beside a test: in a thread, where it outlives the event loops of tests, or in a task of the test's loop."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from queue import SimpleQueue
from typing import Any

Serve = Callable[[asyncio.Event, Callable[[], None]], Coroutine[Any, Any, None]]
"""Serves until the event is set, and calls back once it answers."""


@contextmanager
def in_thread(serve: Serve) -> Iterator[None]:
    """Runs a server until the end of the block; raises what it raises."""
    began: SimpleQueue[Callable[[], object] | None] = SimpleQueue()

    async def run() -> None:
        loop, stop = asyncio.get_running_loop(), asyncio.Event()
        try:
            await serve(stop, lambda: began.put(lambda: loop.call_soon_threadsafe(stop.set)))
        finally:
            began.put(None)

    with ThreadPoolExecutor(1) as threads:
        serving = threads.submit(asyncio.run, run())
        if end := began.get():
            try:
                yield
            finally:
                end()
        serving.result()


@asynccontextmanager
async def in_task(serve: Serve) -> AsyncIterator[asyncio.Event]:
    """Runs a server until the end of the block, or until the event that it yields is set; raises what it raises."""
    stop, ready = asyncio.Event(), asyncio.Event()
    serving = asyncio.create_task(serve(stop, ready.set))
    serving.add_done_callback(lambda _: ready.set())
    await ready.wait()
    try:
        if serving.done():
            serving.result()
        yield stop
    finally:
        stop.set()
        await serving
