"""Turns of keys: what one key may keep threads busy with."""

import asyncio
import threading

import pytest

from purser.gateway.http.turns import Turns


class Work:
    """Work of threads that lasts until a test ends it."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self._ends = threading.Semaphore(0)

    def of(self, key: str) -> str:
        """Begins, and ends when it may."""
        self.begun.append(key)
        assert self._ends.acquire(timeout=60)
        return key

    async def has_begun(self, *keys: str) -> None:
        """Returns once exactly these have begun."""
        async with asyncio.timeout(60):
            while len(self.begun) < len(keys):
                await asyncio.sleep(0.01)
        assert self.begun == [*keys]

    def end(self, count: int) -> None:
        """Lets so many end."""
        self._ends.release(count)


async def test_a_key_has_one_thread_at_a_time_and_another_key_does_not_wait_for_it() -> None:
    turns, work = Turns(), Work()
    calls = [asyncio.create_task(turns.in_thread("one", lambda: work.of("one"))) for _ in range(8)]
    await work.has_begun("one")
    calls.append(asyncio.create_task(turns.in_thread("other", lambda: work.of("other"))))
    await work.has_begun("one", "other")
    work.end(9)
    assert await asyncio.gather(*calls) == ["one"] * 8 + ["other"]
    del calls
    assert not turns._locks, "a key without work is forgotten"


async def test_work_whose_caller_has_left_keeps_its_turn_until_it_ends() -> None:
    turns, work = Turns(), Work()
    leaving = asyncio.create_task(turns.in_thread("one", lambda: work.of("first")))
    await work.has_begun("first")
    next_one = asyncio.create_task(turns.in_thread("one", lambda: work.of("second")))
    leaving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await leaving
    await turns.in_thread("other", lambda: None)
    assert work.begun == ["first"]
    work.end(1)
    await work.has_begun("first", "second")
    work.end(1)
    assert await next_one == "second"


async def test_failed_work_leaves_its_turn_to_the_next() -> None:
    turns = Turns()
    with pytest.raises(ZeroDivisionError):
        await turns.in_thread("one", lambda: 1 // 0)
    assert await turns.in_thread("one", lambda: 1) == 1
