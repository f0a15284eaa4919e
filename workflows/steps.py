"""Steps of workflows: activities by name, awaits that never miss a cancellation, and a last step shielded from it.

Temporal delivers a cancellation once, into whatever is awaited at that moment. If an activity completes in the same
activation, the cancellation is lost and the code continues as if nothing had happened. Therefore every await of a turn
goes through `cancellable`, which checks the workflow's own record of the request.
"""

import asyncio
from collections.abc import Awaitable, Coroutine
from typing import Any, TypeVar

from temporalio import workflow
from temporalio.exceptions import ActivityError, ApplicationError, FailureError, is_cancelled_exception
from temporalio.workflow import ActivityConfig

from purser.context.conversation.storable import storable
from purser.workflows import options
from purser.workflows.contract import ActivityName, ReleaseInput, ReleaseResult

T = TypeVar("T")


async def step(activity: str, argument: object, returns: type[T], config: ActivityConfig) -> T:
    """Runs an activity; raises `CancelledError` if the workflow was asked to cancel in the meantime."""
    return await cancellable(run_activity(activity, argument, returns, config))


async def run_activity(activity: str, argument: object, returns: type[T], config: ActivityConfig) -> T:
    """Runs an activity and returns its result."""
    result: T = await workflow.execute_activity(activity, argument, result_type=returns, **config)
    return result


async def release(tenant: str, key: str) -> None:
    """Ends the hold of a key, and closes the key."""
    await run_activity(ActivityName.RELEASE, ReleaseInput(tenant, key), ReleaseResult, options.RECORD)


async def record(activity: str, argument: object, returns: type[T]) -> T:
    """Runs an activity that only reads or writes rows inside the workflow task; if that fails, as a regular one.

    A local activity takes one step where a regular one takes three. It may run again, so it must be idempotent.
    """
    try:
        result: T = await workflow.execute_local_activity(activity, argument, result_type=returns, **options.LOCALLY)
    except FailureError as error:  # not wrapped in an ActivityError
        if is_cancelled_exception(error):
            raise
        return await run_activity(activity, argument, returns, options.RECORD)
    return result


async def cancellable(awaited: Awaitable[T]) -> T:
    """Awaits, then raises `CancelledError` if the workflow was asked to cancel in the meantime, whatever the result."""
    try:
        result = await awaited
    except (Exception, asyncio.CancelledError):
        # No other exceptions: on eviction the coroutine is closed outside its workflow, where nothing can be queried.
        _raise_if_cancelled()
        raise
    _raise_if_cancelled()
    return result


def _raise_if_cancelled() -> None:
    if workflow.cancellation_reason() is not None:
        raise asyncio.CancelledError


async def shielded(last: Coroutine[Any, Any, T]) -> T:
    """Awaits to completion, even if the caller is cancelled."""
    task = asyncio.create_task(last)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        # A cancellation is delivered once, so nothing interrupts from here on.
        return await task


def failure_type(error: ActivityError) -> str:
    """The type name of the error that made an activity fail, never its text; without NUL, which no activity takes."""
    cause = error.cause
    return storable((cause.type if isinstance(cause, ApplicationError) else None) or type(cause).__name__)
