"""The window benchmark: its limits of time, and its sweep over real conversations."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from purser.benchmarks.windows import CUT_EVERYWHERE, WHOLE, beginnings, conversations, missed, sweep
from purser.benchmarks.windows.speed import Timing, loop_holds
from purser.context.compression.extracts.extraction import extract
from tests.support.runs.proof import some

FAST = Timing("three_part", 1_000, 250_000, 40.0, 4.0, 9.0, 3.0, 5.0, ours=True)


def test_every_figure_above_its_limit_is_named() -> None:
    long = replace(FAST, messages=10_000, p50_ms=6.2)
    assert [one[1:3] for one in missed([FAST, long])] == [(1_000, "growth")]
    slow = replace(FAST, p50_ms=5.1, p95_ms=21.0, loop_ms=10.1)
    assert [one[2] for one in missed([slow])] == ["loop", "p50", "p95"]
    assert not list(missed([FAST, replace(FAST, messages=20_000), replace(FAST, messages=100_000, first_ms=299.0)]))
    longest = [replace(FAST, messages=20_000, first_ms=101.0), replace(FAST, messages=100_000, p95_ms=301.0)]
    assert [one[1:3] for one in missed(longest)] == [(20_000, "first"), (100_000, "p95")]


def test_other_libraries_have_no_limit() -> None:
    assert not list(missed([replace(FAST, p50_ms=500.0, ours=False)]))


async def test_the_event_loop_counts_as_held_while_the_process_computes() -> None:
    async def longest(step: Callable[[], None]) -> float:
        async with loop_holds() as holds:
            await asyncio.sleep(0.005)
            step()
            await asyncio.sleep(0.005)
        return max(holds)

    def compute() -> None:
        until = time.process_time() + 0.2
        while time.process_time() < until:
            pass

    assert await longest(lambda: time.sleep(0.2)) < 0.1, "as if other processes had the cores"
    assert await longest(compute) > 0.1


@pytest.mark.proof
@pytest.mark.parametrize("name", CUT_EVERYWHERE)
def test_cut_at_every_message_every_strategy_preset_and_size_shows_a_window_without_fault(
    name: str, shared_data: Path
) -> None:
    found = sweep(some(conversations(shared_data, name), 1), beginnings, everywhere=True)
    assert set(found) <= {"right", "refused"}
    assert found["right"] > 0


@pytest.mark.proof
@pytest.mark.parametrize("name", WHOLE)
def test_of_whole_conversations_every_strategy_preset_and_size_shows_a_window_without_fault(
    name: str, shared_data: Path
) -> None:
    found = sweep(some(conversations(shared_data, name), 1), extract, everywhere=False)
    assert set(found) <= {"right", "refused"}
    assert found["right"] > 0
