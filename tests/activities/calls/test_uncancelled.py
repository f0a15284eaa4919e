"""Work that completes despite cancellation, in activities and in workflows."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import pytest

from purser.activities.calls.uncancelled import uncancelled
from purser.workflows.steps import shielded


async def cancelled_meanwhile(
    shield: Callable[[Coroutine[Any, Any, str]], Awaitable[str]], times: int
) -> tuple[str, bool]:
    """Returns the result of shielded work whose caller is cancelled, and whether the work was undisturbed."""
    begun, goes_on, undisturbed = asyncio.Event(), asyncio.Event(), True

    async def work() -> str:
        nonlocal undisturbed
        begun.set()
        try:
            await goes_on.wait()
        except asyncio.CancelledError:
            undisturbed = False
            raise
        return "settled"

    async def caller() -> str:
        return await shield(work())

    task = asyncio.create_task(caller())
    await begun.wait()
    for _ in range(times):
        task.cancel()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
    goes_on.set()
    return await task, undisturbed


@pytest.mark.parametrize("times", [0, 1, 2, 3])
async def test_an_activity_finishes_its_settlement_however_often_it_is_cancelled(times: int) -> None:
    assert await cancelled_meanwhile(uncancelled, times) == ("settled", True)


@pytest.mark.parametrize("times", [0, 1])
async def test_a_workflow_finishes_its_closing_although_it_is_cancelled(times: int) -> None:
    """Temporal delivers a cancellation to a workflow once."""
    assert await cancelled_meanwhile(shielded, times) == ("settled", True)


async def test_an_error_of_shielded_work_is_its_callers() -> None:
    async def fails() -> None:
        raise ValueError

    for shield in (uncancelled, shielded):
        with pytest.raises(ValueError):  # noqa: PT011 # it has no message
            await shield(fails())
