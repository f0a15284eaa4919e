"""Lanes: calls that arrive while one is under way travel together in the next.

A commit costs more than what it writes, so a busy scope is served by few large transactions. An idle lane sends a call
at once: batching adds no delay of its own.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

from purser.budget.errors import LedgerUnavailable

A = TypeVar("A")
R = TypeVar("R")

MOST = 256
"""Calls in one batch at most: keeps the locks of a batch short."""


class Lane(Generic[A, R]):
    """One batch at a time; each call gets its own result or its own error."""

    def __init__(
        self,
        together: Callable[[Sequence[A]], Awaitable[list[R] | None]],
        alone: Callable[[A], Awaitable[R]],
        identity: Callable[[A], tuple[str, object]],
    ) -> None:
        """Args:
        together: runs a batch whole; None if it cannot be, and then nothing of it has happened.
        alone: runs one call.
        identity: group and name of a call; a batch has one group and no name twice.
        """
        self._together = together
        self._alone = alone
        self._identity = identity
        self._waiting: deque[tuple[A, asyncio.Future[R]]] = deque()
        self._running: asyncio.Task[None] | None = None

    async def call(self, argument: A) -> R:
        """Runs one call, with others if the lane is busy. A caller that is cancelled leaves its call under way."""
        future: asyncio.Future[R] = asyncio.get_running_loop().create_future()
        self._waiting.append((argument, future))
        if self._running is None:
            self._running = asyncio.create_task(self._drain())
        return await future

    async def _drain(self) -> None:
        try:
            while self._waiting:
                await self._send(self._next())
        finally:
            self._running = None

    def _next(self) -> list[tuple[A, asyncio.Future[R]]]:
        batch: list[tuple[A, asyncio.Future[R]]] = []
        left: deque[tuple[A, asyncio.Future[R]]] = deque()
        group, _ = self._identity(self._waiting[0][0])
        names = set()
        while self._waiting and len(batch) < MOST:
            call = self._waiting.popleft()
            of, name = self._identity(call[0])
            fits = of == group and name not in names
            names.add(name)
            (batch if fits else left).append(call)
        self._waiting.extendleft(reversed(left))
        return batch

    async def _send(self, batch: list[tuple[A, asyncio.Future[R]]]) -> None:
        try:
            results = await self._together([argument for argument, _ in batch]) if len(batch) > 1 else None
        except LedgerUnavailable as error:
            for _, future in batch:
                _fail(future, error)
            return
        except Exception:
            results = None  # one of them is at fault: alone, each gets its own answer
        if results is None:
            await asyncio.gather(*(self._one(argument, future) for argument, future in batch))
            return
        for (_, future), result in zip(batch, results, strict=True):
            if not future.done():
                future.set_result(result)

    async def _one(self, argument: A, future: "asyncio.Future[R]") -> None:
        try:
            result = await self._alone(argument)
        except Exception as error:
            _fail(future, error)
        else:
            if not future.done():
                future.set_result(result)


def _fail(future: "asyncio.Future[R]", error: Exception) -> None:
    if not future.done():
        future.set_exception(error)
