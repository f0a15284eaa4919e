"""Concurrent work: repeated steps, background tasks, and tasks that end together."""

import asyncio
import random

import pytest

from purser.activities.runtime.background import backoff_s, first_of, in_background, repeat, run_together


@pytest.mark.parametrize(
    ("every_s", "failures", "pause_s"),
    [(0.2, 0, 0.2), (0.2, 1, 0.4), (0.2, 3, 1.6), (0.2, 20, 30), (60, 5, 60), (0.2, 5_000, 30)],
)
def test_the_pause_doubles_with_each_failure_up_to_the_longest(every_s: float, failures: int, pause_s: float) -> None:
    assert backoff_s(every_s, failures) == pytest.approx(pause_s)


async def test_what_repeats_goes_on_after_a_failure_at_each_poke_and_ends_at_a_stop() -> None:
    stop, poked, runs = asyncio.Event(), asyncio.Event(), list[int]()

    async def step() -> None:
        runs.append(len(runs))
        if len(runs) == 3:
            stop.set()
        poked.set()
        raise ValueError

    async with asyncio.timeout(30):
        await repeat("test", step, stop, 3_600, poked)
    assert runs == [0, 1, 2]


async def test_its_jitter_leaves_the_random_numbers_of_other_code_alone() -> None:
    stop, repeated = asyncio.Event(), asyncio.Event()

    async def step() -> None:
        if repeated.is_set():
            stop.set()
        repeated.set()

    before = random.getstate()
    await repeat("step", step, stop, 0.01)
    assert random.getstate() == before


async def test_the_first_failure_ends_the_others_and_is_raised_as_it_is() -> None:
    ended = asyncio.Event()

    async def wait() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async def fail() -> None:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        await run_together(wait(), fail())
    assert ended.is_set()


async def test_the_first_of_several_waits_ends_the_others_but_not_what_they_wait_for() -> None:
    done, never, before = asyncio.Event(), asyncio.Event(), asyncio.all_tasks()
    work = asyncio.create_task(never.wait())
    done.set()
    await first_of(done.wait(), asyncio.wait([work]))
    await asyncio.sleep(0)
    assert not work.done()
    work.cancel()
    assert asyncio.all_tasks() - before <= {work}


async def test_background_work_has_ended_when_its_block_has() -> None:
    began, ended = asyncio.Event(), asyncio.Event()

    async def other() -> None:
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async def work() -> None:
        async with in_background(other()):
            await began.wait()
            raise ValueError("of the work")

    with pytest.raises(ValueError, match="of the work"):
        await work()
    assert ended.is_set()
