"""Micro-batching: calls that arrive while a transaction is in progress share the next one.

A commit costs more than what it writes, so a busy scope is served by a few large transactions. An idle batcher runs a
call at once: batching adds no delay.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from time import monotonic
from typing import Any, Generic, TypeVar
from weakref import WeakValueDictionary

from purser.budget.errors import BudgetError, LedgerUnavailable
from purser.budget.postgres.connections.pools import ACQUIRE_S

A = TypeVar("A")
R = TypeVar("R")

MAX_BATCH = 64
"""Most calls in one batch: bounds how long a batch holds its locks.

Callers of several batches keep both Postgres and this process at work; those of a single large one would all wait for
either in turn."""
MAX_ALONE = 4
"""Most calls of a group at a time that a batch has left alone: they share the connections with the batches."""
MAX_GROUPS = 8
"""Most groups at a time that have a batch in progress: one whose rows somebody else locks keeps no other waiting."""


@dataclass(eq=False)
class _Group(Generic[A, R]):
    """The calls of a group."""

    waiting: "deque[tuple[object, A, asyncio.Future[R], float]]" = field(default_factory=deque)
    """Name, argument, result and arrival of each, in the order of their arrival."""
    is_running: bool = False
    alone: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(MAX_ALONE))


class MicroBatcher(Generic[A, R]):
    """Runs one batch of each group at a time; each call gets its own result or error.

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
        # A group is there as long as a task works for it.
        self._groups: WeakValueDictionary[str, _Group[A, R]] = WeakValueDictionary()
        self._places = asyncio.Semaphore(MAX_GROUPS)
        self._tasks = set[asyncio.Task[None]]()
        self._away: LedgerUnavailable | None = None
        """Why the last calls that ended have failed; `None`: they have not."""

    async def call(self, argument: A) -> R:
        """Runs one call, in a batch if another one is in progress. Cancelling the caller does not cancel the call."""
        future: asyncio.Future[R] = asyncio.get_running_loop().create_future()
        of, name = self._identity(argument)
        if (group := self._groups.get(of)) is None:
            group = self._groups[of] = _Group()
        group.waiting.append((name, argument, future, monotonic()))
        if not group.is_running:
            group.is_running = True
            self._start(self._drain(group))
        return await future

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _drain(self, group: _Group[A, R]) -> None:
        try:
            while group.waiting:
                async with self._places:
                    self._give_up(group)
                    if group.waiting:
                        await self._send(group, _next(group))
        finally:
            group.is_running = False

    def _give_up(self, group: _Group[A, R]) -> None:
        """While Postgres is away, fails the calls that have waited as long as for a connection: batch after batch would
        wait for it in vain. They were never sent."""
        while self._away is not None and group.waiting and group.waiting[0][3] <= monotonic() - ACQUIRE_S:
            _fail(group.waiting.popleft()[2], self._away)

    async def _send(self, group: _Group[A, R], batch: list[tuple[A, asyncio.Future[R]]]) -> None:
        if len(batch) == 1:
            await self._one(*batch[0])
            return
        results: Sequence[R | BudgetError | None] = [None] * len(batch)
        try:
            results = await self._run_batch([argument for argument, _ in batch])
        except LedgerUnavailable as error:
            self._away = error
            for _, future in batch:
                _fail(future, error)
            return
        except Exception:
            pass  # one call is at fault: run alone, each gets its own result
        else:
            self._away = None
        for call, result in zip(batch, results, strict=True):
            if result is None:
                self._start(self._left_alone(group, *call))
            elif isinstance(result, BudgetError):
                _fail(call[1], result)
            elif not call[1].done():
                call[1].set_result(result)

    async def _left_alone(self, group: _Group[A, R], argument: A, future: "asyncio.Future[R]") -> None:
        async with group.alone:
            await self._one(argument, future)

    async def _one(self, argument: A, future: "asyncio.Future[R]") -> None:
        try:
            result = await self._run_one(argument)
        except Exception as error:
            self._away = error if isinstance(error, LedgerUnavailable) else None
            _fail(future, error)
        else:
            self._away = None
            if not future.done():
                future.set_result(result)


def _next(group: _Group[A, R]) -> list[tuple[A, "asyncio.Future[R]"]]:
    """Takes the calls of the next batch out of a group: the oldest ones with different names."""
    batch: list[tuple[A, asyncio.Future[R]]] = []
    left, names = list[tuple[object, A, asyncio.Future[R], float]](), set[object]()
    while group.waiting and len(batch) < MAX_BATCH:
        name, argument, future, arrived = group.waiting.popleft()
        if name in names:
            left.append((name, argument, future, arrived))
        else:
            names.add(name)
            batch.append((argument, future))
    group.waiting.extendleft(reversed(left))
    return batch


def _fail(future: "asyncio.Future[R]", error: Exception) -> None:
    if not future.done():
        future.set_exception(error)
