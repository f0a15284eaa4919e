"""A server in a thread: it outlives the event loops of tests."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
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
