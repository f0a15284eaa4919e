"""Turns of keys: dear work of one key is done one after the other, so that other keys find threads and connections."""

import asyncio
from collections.abc import Callable
from typing import TypeVar
from weakref import WeakValueDictionary

T = TypeVar("T")


class Turns:
    """Gives each key one turn at a time."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def of(self, key: str) -> asyncio.Lock:
        """The turn of a key, which work of it takes."""
        return self._locks.setdefault(key, asyncio.Lock())

    async def in_thread(self, key: str, work: Callable[[], T]) -> T:
        """Runs `work` in a thread once it is its turn."""
        turn = self.of(key)
        await turn.acquire()
        running = asyncio.create_task(asyncio.to_thread(work))
        # A thread cannot be stopped: if its caller has left, the next one of the key waits for it all the same.
        running.add_done_callback(lambda _: turn.release())
        return await asyncio.shield(running)
