"""Lanes: what arrives while one call is under way travels together, and each call gets its own answer."""

import asyncio
from collections.abc import Sequence

import pytest

from purser.budget.errors import LedgerUnavailable
from purser.budget.postgres.ledger.micro_batching import MAX_BATCH, MicroBatcher

Call = tuple[str, str]


class Road:
    """Records what travels; calls named in `bad` fail whoever they travel with, those in `odd` only travel alone."""

    def __init__(self, bad: Sequence[str] = (), odd: Sequence[str] = (), away: bool = False) -> None:
        self.sent: list[list[str]] = []
        self.bad, self.odd, self.away = bad, odd, away
        self.go = asyncio.Event()
        self.lane = MicroBatcher(self.together, self.alone, lambda call: call)

    async def together(self, calls: Sequence[Call]) -> list[str] | None:
        self.sent.append([name for _, name in calls])
        if self.away:
            raise LedgerUnavailable("away")
        if any(name in self.bad for _, name in calls):
            raise ValueError("one of them")
        return None if any(name in self.odd for _, name in calls) else [f"{name}!" for _, name in calls]

    async def alone(self, call: Call) -> str:
        self.sent.append([call[1]])
        await self.go.wait()
        if call[1] in self.bad:
            raise ValueError(call[1])
        return f"{call[1]}!"

    async def all(self, *names: str, group: str = "g") -> list[str | BaseException]:
        """Calls that arrive at once."""
        calls = [asyncio.ensure_future(self.lane.call((group, name))) for name in names]
        await asyncio.sleep(0)
        self.go.set()
        return await asyncio.gather(*calls, return_exceptions=True)


async def test_an_idle_lane_sends_a_call_at_once_and_a_busy_one_sends_what_has_come_together() -> None:
    road = Road()
    first = asyncio.ensure_future(road.lane.call(("g", "a")))
    await asyncio.sleep(0.01)
    assert road.sent == [["a"]]
    rest = [asyncio.ensure_future(road.lane.call(("g", name))) for name in "bcd"]
    await asyncio.sleep(0.01)
    assert road.sent == [["a"]]
    road.go.set()
    assert await asyncio.gather(first, *rest) == ["a!", "b!", "c!", "d!"]
    assert road.sent == [["a"], ["b", "c", "d"]]


async def test_a_batch_that_cannot_travel_whole_goes_one_by_one() -> None:
    road = Road(odd=["c"])
    assert await road.all("a", "b", "c", "d") == ["a!", "b!", "c!", "d!"]
    assert sorted(len(batch) for batch in road.sent) == [1, 1, 1, 1, 4]


async def test_one_faulty_call_does_not_fail_those_it_travels_with() -> None:
    a, b, c = await Road(bad=["b"]).all("a", "b", "c")
    assert (a, c) == ("a!", "c!")
    assert isinstance(b, ValueError)


async def test_when_the_ledger_is_away_every_call_of_a_batch_is_told_and_none_is_tried_again() -> None:
    road = Road(away=True)
    results = await road.all("a", "b", "c")
    assert all(isinstance(result, LedgerUnavailable) for result in results)
    assert road.sent == [["a", "b", "c"]]


async def test_one_name_travels_once_in_a_batch_and_groups_travel_apart() -> None:
    road = Road()
    road.go.set()
    names = [("g", "a"), ("g", "b"), ("g", "b"), ("h", "b"), ("g", "c"), ("h", "c")]
    results = await asyncio.gather(*(road.lane.call(call) for call in names))
    assert results == [f"{name}!" for _, name in names]
    assert road.sent == [["a", "b", "c"], ["b"], ["b", "c"]]


async def test_a_batch_has_an_end() -> None:
    road = Road()
    await road.all(*(str(number) for number in range(3 * MAX_BATCH)))
    assert max(len(batch) for batch in road.sent) == MAX_BATCH
    assert sum(len(batch) for batch in road.sent) == 3 * MAX_BATCH


async def test_a_caller_that_leaves_disturbs_nobody() -> None:
    road = Road()
    calls = [asyncio.ensure_future(road.lane.call(("g", name))) for name in "abc"]
    await asyncio.sleep(0)
    calls[1].cancel()
    road.go.set()
    assert await calls[0] == "a!"
    assert await calls[2] == "c!"
    with pytest.raises(asyncio.CancelledError):
        await calls[1]
    assert await road.lane.call(("g", "later")) == "later!"
