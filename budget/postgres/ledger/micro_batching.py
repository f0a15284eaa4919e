"""Micro-batching: calls that arrive while a transaction is in progress share the next one.

A commit costs more than what it writes, so a busy scope is served by a few large transactions. An idle batcher runs a
call at once: batching adds no delay.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

from purser.budget.errors import BudgetError, LedgerUnavailable

A = TypeVar("A")
R = TypeVar("R")

MAX_BATCH = 64
"""Most calls in one batch: bounds how long a batch holds its locks.

Callers of several batches keep both Postgres and this process at work; those of a single large one would all wait for
either in turn."""
MAX_ALONE = 4
"""Most calls at a time that a batch has left alone: they share the connections with the batches."""


class MicroBatcher(Generic[A, R]):
    """Runs one batch at a time; each call gets its own result or error.

    The next batch does not wait for what a batch has left alone.
    """

    def __init__(
        self,
        run_batch: Callable[[Sequence[A]], Awaitable[Sequence[R | BudgetError | None]]],
        run_one: Callable[[A], Awaitable[R]],
        identity: Callable[[A], tuple[str, object]],
    ) -> None:
        """Args:
        run_batch: runs those calls of a batch that can run together, each to its result or its error; None, without any
            effect, for each of the others.
        run_one: runs one call.
        identity: group and name of a call; all calls of a batch share a group and have different names.
        """
        self._run_batch = run_batch
        self._run_one = run_one
        self._identity = identity
        self._waiting: deque[tuple[A, asyncio.Future[R]]] = deque()
        self._running: asyncio.Task[None] | None = None
        self._alone = set[asyncio.Task[None]]()
        self._turns = asyncio.Semaphore(MAX_ALONE)

    async def call(self, argument: A) -> R:
        """Runs one call, in a batch if another one is in progress. Cancelling the caller does not cancel the call."""
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
        while self._waiting and len(batch) < MAX_BATCH:
            call = self._waiting.popleft()
            of, name = self._identity(call[0])
            fits = of == group and name not in names
            names.add(name)
            (batch if fits else left).append(call)
        self._waiting.extendleft(reversed(left))
        return batch

    async def _send(self, batch: list[tuple[A, asyncio.Future[R]]]) -> None:
        if len(batch) == 1:
            await self._one(*batch[0])
            return
        results: Sequence[R | BudgetError | None] = [None] * len(batch)
        try:
            results = await self._run_batch([argument for argument, _ in batch])
        except LedgerUnavailable as error:
            for _, future in batch:
                _fail(future, error)
            return
        except Exception:
            pass  # one call is at fault: run alone, each gets its own result
        for call, result in zip(batch, results, strict=True):
            if result is None:
                self._leave_alone(*call)
            elif isinstance(result, BudgetError):
                _fail(call[1], result)
            elif not call[1].done():
                call[1].set_result(result)

    def _leave_alone(self, argument: A, future: "asyncio.Future[R]") -> None:
        async def run() -> None:
            async with self._turns:
                await self._one(argument, future)

        task = asyncio.create_task(run())
        self._alone.add(task)
        task.add_done_callback(self._alone.discard)

    async def _one(self, argument: A, future: "asyncio.Future[R]") -> None:
        try:
            result = await self._run_one(argument)
        except Exception as error:
            _fail(future, error)
        else:
            if not future.done():
                future.set_result(result)


def _fail(future: "asyncio.Future[R]", error: Exception) -> None:
    if not future.done():
        future.set_exception(error)
