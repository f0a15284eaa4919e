"""Micro-batching: calls that arrive while one is in progress share a batch, and each gets its own result."""

import asyncio
from collections.abc import Sequence

import pytest

from purser.budget.errors import LedgerUnavailable
from purser.budget.postgres.connections.pools import ACQUIRE_S
from purser.budget.postgres.ledger import micro_batching
from purser.budget.postgres.ledger.micro_batching import MAX_ALONE, MAX_BATCH, MAX_GROUPS, MicroBatcher

Call = tuple[str, str]


class Recorder:
    """Records batches; calls named in `bad` always fail, those in `odd` cannot be part of a batch."""

    def __init__(self, bad: Sequence[str] = (), odd: Sequence[str] = (), away: bool = False) -> None:
        self.sent: list[list[str]] = []
        self.bad, self.odd, self.away = bad, odd, away
        self.go = asyncio.Event()
        self.batcher = MicroBatcher(self.run_batch, self.run_one, lambda call: call)

    async def run_batch(self, calls: Sequence[Call]) -> list[str | None]:
        self.sent.append([name for _, name in calls])
        if self.away:
            raise LedgerUnavailable("away")
        if any(name in self.bad for _, name in calls):
            raise ValueError("one of them")
        return [None if name in self.odd else f"{name}!" for _, name in calls]

    async def run_one(self, call: Call) -> str:
        self.sent.append([call[1]])
        await self.go.wait()
        if call[1] in self.bad:
            raise ValueError(call[1])
        return f"{call[1]}!"

    async def all(self, *names: str, group: str = "g") -> list[str | BaseException]:
        """Calls that arrive at once."""
        calls = [asyncio.ensure_future(self.batcher.call((group, name))) for name in names]
        await asyncio.sleep(0)
        self.go.set()
        return await asyncio.gather(*calls, return_exceptions=True)


async def test_an_idle_batcher_runs_a_call_at_once_and_a_busy_one_batches() -> None:
    recorder = Recorder()
    first = asyncio.ensure_future(recorder.batcher.call(("g", "a")))
    await asyncio.sleep(0.01)
    assert recorder.sent == [["a"]]
    rest = [asyncio.ensure_future(recorder.batcher.call(("g", name))) for name in "bcd"]
    await asyncio.sleep(0.01)
    assert recorder.sent == [["a"]]
    recorder.go.set()
    assert await asyncio.gather(first, *rest) == ["a!", "b!", "c!", "d!"]
    assert recorder.sent == [["a"], ["b", "c", "d"]]


async def test_what_cannot_run_in_a_batch_runs_alone() -> None:
    recorder = Recorder(odd=["c"])
    assert await recorder.all("a", "b", "c", "d") == ["a!", "b!", "c!", "d!"]
    assert sorted(len(batch) for batch in recorder.sent) == [1, 4]


async def test_the_next_batch_does_not_wait_for_what_was_left_alone() -> None:
    recorder = Recorder(odd=["c"])
    first = [asyncio.ensure_future(recorder.batcher.call(("g", name))) for name in "abc"]
    assert await asyncio.gather(*first[:2]) == ["a!", "b!"]
    async with asyncio.timeout(60):
        assert await asyncio.gather(*(recorder.batcher.call(("g", name)) for name in "de")) == ["d!", "e!"]
    assert not first[2].done()
    recorder.go.set()
    assert await first[2] == "c!"


async def test_few_of_those_left_alone_run_at_a_time() -> None:
    names = [str(number) for number in range(4 * MAX_ALONE)]
    recorder = Recorder(odd=names)
    calls = [asyncio.ensure_future(recorder.batcher.call(("g", name))) for name in names]
    assert await asyncio.gather(*(recorder.batcher.call(("g", name)) for name in "ab")) == ["a!", "b!"]
    assert sum(len(batch) == 1 for batch in recorder.sent) == MAX_ALONE
    recorder.go.set()
    assert await asyncio.gather(*calls) == [f"{name}!" for name in names]


async def test_one_faulty_call_does_not_fail_the_rest_of_its_batch() -> None:
    a, b, c = await Recorder(bad=["b"]).all("a", "b", "c")
    assert (a, c) == ("a!", "c!")
    assert isinstance(b, ValueError)


async def test_when_the_ledger_is_unavailable_every_call_of_a_batch_fails_and_none_is_retried() -> None:
    recorder = Recorder(away=True)
    results = await recorder.all("a", "b", "c")
    assert all(isinstance(result, LedgerUnavailable) for result in results)
    assert recorder.sent == [["a", "b", "c"]]


async def test_while_the_ledger_is_away_calls_that_have_waited_long_fail_unsent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now, recorder = 100.0, Recorder(away=True)
    monkeypatch.setattr(micro_batching, "monotonic", lambda: now)
    first = asyncio.ensure_future(recorder.batcher.call(("g", "first")))
    while not recorder.sent:
        await asyncio.sleep(0)
    waiting = [asyncio.ensure_future(recorder.batcher.call(("g", str(name)))) for name in range(2 * MAX_BATCH)]
    await asyncio.sleep(0)
    now += ACQUIRE_S - 1
    late = asyncio.ensure_future(recorder.batcher.call(("g", "late")))
    await asyncio.sleep(0)
    now += 1
    recorder.go.set()
    failed = await asyncio.gather(*waiting, return_exceptions=True)
    assert all(isinstance(error, LedgerUnavailable) for error in failed)
    assert (await first, await late) == ("first!", "late!")
    assert [len(batch) for batch in recorder.sent] == [1, MAX_BATCH, 1]


async def test_a_batch_has_each_name_once_and_only_one_group() -> None:
    recorder = Recorder()
    recorder.go.set()
    names = [("g", "a"), ("g", "b"), ("g", "b"), ("h", "b"), ("g", "c"), ("h", "c")]
    results = await asyncio.gather(*(recorder.batcher.call(call) for call in names))
    assert results == [f"{name}!" for _, name in names]
    assert recorder.sent == [["a", "b", "c"], ["b"], ["b", "c"]]


async def test_a_batch_has_an_end() -> None:
    recorder = Recorder()
    await recorder.all(*(str(number) for number in range(3 * MAX_BATCH)))
    assert max(len(batch) for batch in recorder.sent) == MAX_BATCH
    assert sum(len(batch) for batch in recorder.sent) == 3 * MAX_BATCH


async def test_a_cancelled_caller_does_not_affect_others() -> None:
    recorder = Recorder()
    calls = [asyncio.ensure_future(recorder.batcher.call(("g", name))) for name in "abc"]
    await asyncio.sleep(0)
    calls[1].cancel()
    recorder.go.set()
    assert await calls[0] == "a!"
    assert await calls[2] == "c!"
    with pytest.raises(asyncio.CancelledError):
        await calls[1]
    assert await recorder.batcher.call(("g", "later")) == "later!"


async def test_a_group_that_waits_keeps_no_other_waiting() -> None:
    recorder = Recorder()
    waiting = asyncio.ensure_future(recorder.batcher.call(("a", "x")))
    await asyncio.sleep(0.01)
    async with asyncio.timeout(60):
        assert await asyncio.gather(*(recorder.batcher.call(("b", name)) for name in "yz")) == ["y!", "z!"]
    assert not waiting.done()
    recorder.go.set()
    assert await waiting == "x!"


async def test_few_groups_have_a_batch_in_progress_at_a_time() -> None:
    recorder = Recorder()
    groups = [str(number) for number in range(2 * MAX_GROUPS)]
    calls = [asyncio.ensure_future(recorder.batcher.call((group, f"of {group}"))) for group in groups]
    await asyncio.sleep(0.01)
    assert len(recorder.sent) == MAX_GROUPS
    recorder.go.set()
    assert await asyncio.gather(*calls) == [f"of {group}!" for group in groups]
