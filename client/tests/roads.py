"""A way to a model, and what a test does with it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any, Protocol

import pytest

HELLO = "hello there"


class Road(Protocol):
    """How a framework, or a client, calls the model."""

    async def ask(self, text: str) -> str:
        """The whole answer."""
        ...

    def stream(self, text: str) -> AsyncIterator[str]:
        """The answer in pieces."""
        ...


async def call(road: Road, way: str) -> Any:
    """Says hello, by the method of this name."""
    return await road.ask(HELLO) if way == "ask" else [piece async for piece in road.stream(HELLO)]


async def leave(road: Road, words: int) -> None:
    """Leaves a stream after so many words."""
    async with aclosing(_words_so_far(road)) as stream:
        async for arrived in stream:
            if arrived == words:
                break


async def cancel(road: Road, words: int) -> None:
    """Cancels the task that reads a stream after so many words."""
    there = asyncio.Event()

    async def read() -> None:
        async for arrived in _words_so_far(road):
            if arrived == words:
                there.set()

    reading = asyncio.create_task(read())
    await _either(reading, there)
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading


async def _words_so_far(road: Road) -> AsyncIterator[int]:
    text = ""
    async with aclosing(road.stream(HELLO)) as stream:
        async for piece in stream:
            text += piece
            yield len(text.split())


async def _either(task: asyncio.Task[Any], event: asyncio.Event) -> None:
    waiting = asyncio.create_task(event.wait())
    await asyncio.wait((task, waiting), return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()
    if task.done():
        task.result()
