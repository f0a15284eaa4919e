"""The benchmark of a gateway under load: which answers show that it limits a load."""

import asyncio
import gc
from contextlib import suppress
from multiprocessing import Pipe
from typing import Any

import pytest

from purser.benchmarks.edge import received
from purser.benchmarks.edge.loads import Answers, Kind, Load

SILENT = Load("silent", Kind.SILENT, 10)
STREAMS = Load("streams", Kind.STREAM, 10, ("key",), 4)
BODIES = Load("bodies", Kind.BODY, 10, ("key",))


@pytest.mark.parametrize(
    ("load", "answers", "limited"),
    [
        (Load("nothing", Kind.STREAM, 0), {}, True),
        (SILENT, {"cut": 20}, True),
        (SILENT, {"cut": 19, "open": 1}, False),
        (STREAMS, {"200": 4, "429": 6}, True),
        (STREAMS, {"200": 5, "429": 5}, False),
        (STREAMS, {"200": 4, "429": 5, "cut": 1}, False),
        (BODIES, {"200": 4, "429": 5, "cut": 1}, True),
        (BODIES, {"200": 10}, False),
        (BODIES, {"429": 10}, False),
        (BODIES, {"200": 4, "429": 5, "500": 1}, False),
    ],
)
def test_what_exceeds_a_limit_must_be_cut_or_refused_and_nothing_else(
    load: Load, answers: dict[str, int], limited: bool
) -> None:
    assert load.is_limited(Answers(answers)) is limited


async def test_an_interrupt_says_nothing_of_the_process_that_it_ends() -> None:
    said: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: said.append(context))
    ours, theirs = Pipe()
    with suppress(asyncio.CancelledError), received(ours):
        await asyncio.sleep(0.1)
        raise asyncio.CancelledError
    theirs.close()
    await asyncio.sleep(0.1)
    gc.collect()
    assert said == []
    ours.close()
