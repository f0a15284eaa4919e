"""Concurrent work: repeated steps, background tasks, tasks that end together, and heartbeats."""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import structlog
from temporalio import activity

MAX_BACKOFF_S = 30.0
HEARTBEAT_S = 1.0
"""Pause between two heartbeats, which is also the delay of a cancellation: it arrives with their answers."""
_MOST_DOUBLINGS = 10
# Without a state, which forked processes would share, and which other code of this process might seed.
_jitter = random.SystemRandom()

log = structlog.get_logger(__name__)


async def repeat(
    name: str,
    step: Callable[[], Awaitable[object]],
    stop: asyncio.Event,
    every_s: float | Callable[[], float],
    poked: asyncio.Event | None = None,
    *,
    max_backoff_s: float = MAX_BACKOFF_S,
) -> None:
    """Runs `step` about every `every_s` seconds or when poked, until `stop`; backs off while it fails."""
    failures = 0
    while not stop.is_set():
        if poked is not None:
            poked.clear()
        try:
            await step()
            failures = 0
        except Exception as error:
            failures += 1
            log.warning("background work failed and will be retried", step=name, error=type(error).__name__)
        pause = backoff_s(every_s() if callable(every_s) else every_s, failures, max_backoff_s)
        # Jitter, so that processes that started together do not query at the same time.
        waits = [stop.wait()] if poked is None else [stop.wait(), poked.wait()]
        await first_of(*waits, timeout_s=pause * _jitter.uniform(0.8, 1.2))


def backoff_s(every_s: float, failures: int, max_backoff_s: float = MAX_BACKOFF_S) -> float:
    """Seconds until the next attempt: doubled after each failure, up to `max_backoff_s`."""
    return min(every_s * (1 << min(failures, _MOST_DOUBLINGS)), max(every_s, max_backoff_s))


async def first_of(*waits: Coroutine[Any, Any, object], timeout_s: float | None = None) -> None:
    """Waits until one of them ends in any way or the timeout passes, then cancels the others."""
    tasks = [asyncio.create_task(wait) for wait in waits]
    try:
        await asyncio.wait(tasks, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()


async def run_together(*work: Coroutine[Any, Any, object]) -> None:
    """Runs all coroutines to completion; the first failure cancels the others and is raised unwrapped."""
    try:
        async with asyncio.TaskGroup() as group:
            for one in work:
                group.create_task(one)
    except ExceptionGroup as failed:
        raise failed.exceptions[0] from None


@asynccontextmanager
async def in_background(work: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """Runs `work` while the block runs, and cancels it at the end of the block."""
    task = asyncio.create_task(work)
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])


async def heartbeats() -> None:
    """Sends heartbeats for the activity, so that Temporal can deliver a cancellation."""
    while activity.in_activity():
        activity.heartbeat()
        await asyncio.sleep(HEARTBEAT_S)
