"""Shared reads: few for many callers, and nobody gets what was read before it asked."""

import asyncio

import pytest

from purser.budget.errors import LedgerUnavailable
from purser.budget.postgres.connections import shared_reads
from purser.budget.postgres.connections.shared_reads import SharedReads


class Source:
    """A value that takes as long to read as the test wants."""

    def __init__(self) -> None:
        self.value, self.reads = "old", 0
        self.go = asyncio.Event()
        self.go.set()
        self.began = asyncio.Event()

    async def read(self, _: str) -> str:
        self.reads += 1
        found = self.value
        self.began.set()
        await self.go.wait()
        return found


async def test_callers_that_ask_together_share_one_read() -> None:
    source = Source()
    shared = SharedReads(source.read)
    assert await asyncio.gather(*(shared.get("k") for _ in range(50))) == ["old"] * 50
    assert source.reads == 1


async def test_who_asks_during_a_read_gets_what_changed_meanwhile() -> None:
    source = Source()
    shared = SharedReads(source.read)
    source.go.clear()
    early = asyncio.create_task(shared.get("k"))
    await source.began.wait()
    source.value = "new"
    late = [asyncio.create_task(shared.get("k")) for _ in range(50)]
    await asyncio.sleep(0)
    source.go.set()
    assert await early == "old"
    assert set(await asyncio.gather(*late)) == {"new"}
    assert source.reads == 2


async def test_nothing_is_cached_and_keys_do_not_wait_for_each_other() -> None:
    source = Source()
    shared = SharedReads(source.read)
    await shared.get("k")
    source.go.clear()
    slow = asyncio.create_task(shared.get("k"))
    other = asyncio.create_task(shared.get("other"))
    await source.began.wait()
    while source.reads < 3:
        await asyncio.sleep(0)
    source.go.set()
    assert (await slow, await other) == ("old", "old")


async def test_a_cancelled_caller_does_not_take_the_read_from_the_others() -> None:
    source = Source()
    shared = SharedReads(source.read)
    source.go.clear()
    first, second = (asyncio.create_task(shared.get("k")) for _ in range(2))
    await source.began.wait()
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    source.go.set()
    assert await second == "old"


async def test_every_caller_gets_the_error_and_the_next_one_reads_again() -> None:
    failing = True

    async def read(_: str) -> str:
        if failing:
            raise ValueError("bad")
        return "back"

    shared = SharedReads(read)
    errors = await asyncio.gather(*(shared.get("k") for _ in range(3)), return_exceptions=True)
    assert [type(error) for error in errors] == [ValueError] * 3
    failing = False
    assert await shared.get("k") == "back"


async def test_nobody_waits_for_a_read_without_an_answer_longer_than_for_a_connection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(shared_reads, "ACQUIRE_S", 0.05)
    source = Source()
    shared = SharedReads(source.read)
    source.go.clear()
    async with asyncio.timeout(60):
        errors = await asyncio.gather(*(shared.get("k") for _ in range(4)), return_exceptions=True)
        late = await asyncio.gather(shared.get("k"), return_exceptions=True)
    assert [type(error) for error in (*errors, *late)] == [LedgerUnavailable] * 5
    source.go.set()
    assert await shared.get("k") == "old"
