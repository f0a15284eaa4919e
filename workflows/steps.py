"""Steps of a story: activities by name, cancellation noticed, and the end of the story protected from it.

Temporal delivers a cancel once, into whatever is awaited at that moment. Where an activity completes in the same
activation the cancel is swallowed: the code goes on as if nothing had happened. So every await of a turn passes
through `noticing`, which looks at the workflow's own record of the request.
"""

import asyncio
from collections.abc import Awaitable, Coroutine
from typing import Any, TypeVar

from temporalio import workflow
from temporalio.exceptions import ActivityError, ApplicationError
from temporalio.workflow import ActivityConfig

T = TypeVar("T")


async def step(activity: str, argument: object, returns: type[T], config: ActivityConfig) -> T:
    """Runs an activity; raises `CancelledError` if a cancel came meanwhile."""
    return await noticing(perform(activity, argument, returns, config))


async def perform(activity: str, argument: object, returns: type[T], config: ActivityConfig) -> T:
    """Runs an activity."""
    result: T = await workflow.execute_activity(activity, argument, result_type=returns, **config)
    return result


async def noticing(awaited: Awaitable[T]) -> T:
    """Awaits; however that ends, raises `CancelledError` if the workflow was asked to cancel meanwhile."""
    try:
        result = await awaited
    except (Exception, asyncio.CancelledError):
        # Nothing else: a story that is put away is closed outside of its workflow, where nothing can be asked.
        _notice()
        raise
    _notice()
    return result


def _notice() -> None:
    if workflow.cancellation_reason() is not None:
        raise asyncio.CancelledError


async def shielded(last: Coroutine[Any, Any, T]) -> T:
    """Awaits to the end, whatever is cancelled around it."""
    task = asyncio.create_task(last)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        # A cancel is delivered once: from here on nothing interrupts.
        return await task


def kind_of(error: ActivityError) -> str:
    """Type name of what made an activity fail, never its text."""
    cause = error.cause
    return (cause.type if isinstance(cause, ApplicationError) else None) or type(cause).__name__
