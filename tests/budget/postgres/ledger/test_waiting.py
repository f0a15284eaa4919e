"""Waiting for open holds: who waits, who goes first, and who loses its place."""

from datetime import UTC, datetime, timedelta

import pytest

from purser.budget.gate import Amount, Verdict
from tests.support.ledger import TENANT, Books

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)
LIMIT = 1_000


@pytest.fixture
async def clock(books: Books) -> "Clock":
    return await Clock.of(books)


class Clock:
    """A hard session of 1,000 tokens, and a clock that moves a second with every ask."""

    def __init__(self, books: Books) -> None:
        self.books = books
        self.now = NOW

    @classmethod
    async def of(cls, books: Books) -> "Clock":
        await books.budget("session:s1", limit_tokens=LIMIT, mode="hard")
        books.at(NOW)
        return cls(books)

    def passes(self, seconds: int = 1) -> None:
        self.now += seconds * SECOND
        self.books.at(self.now)

    async def asks(self, key: str, tokens: int, *path: str, patient: bool = True) -> str:
        """The result of the ask: `held`, or the verdict."""
        self.passes()
        answer = await self.books.ask(key, tokens, 0, *path, patient=patient)
        return "held" if answer.hold_id else f"{answer.gate.verdict} {answer.gate.decisive.reason}"


async def test_an_ask_waits_while_open_holds_alone_are_in_its_way(clock: Clock) -> None:
    busy = await clock.books.hold("busy", 600)
    answer = await clock.books.ask("k", 500)
    assert (answer.gate.verdict, answer.retry_after_ms, answer.hold_id) == (Verdict.WAIT, 1_000, None)
    await clock.books.settle(busy, 500)
    assert await clock.asks("k", 500) == "held"


async def test_an_ask_that_will_never_fit_does_not_wait(clock: Clock) -> None:
    await clock.books.spend("spent", 501)
    await clock.books.hold("busy", 499)
    assert await clock.asks("k", 500) == "refuse limit"
    assert await clock.asks("k2", 499) == "wait open_holds"


async def test_a_caller_that_cannot_wait_gets_the_verdict_of_the_mode_and_no_place(clock: Clock) -> None:
    await clock.books.hold("busy", 600)
    for _ in range(3):
        assert await clock.asks("k", 500, patient=False) == "refuse limit"
    assert (await clock.books.rows())["waiters"] == 0
    await clock.books.budget("session:s1", mode="approval")
    assert await clock.asks("k", 500, patient=False) == "ask approval"


async def test_an_old_waiter_that_asks_again_goes_before_new_asks(clock: Clock) -> None:
    busy = await clock.books.hold("busy", 900)
    assert await clock.asks("old", 500) == "wait open_holds"
    assert await clock.asks("old", 500) == "wait open_holds"
    assert await clock.asks("new", 50) == "wait queued"
    await clock.books.settle(busy, 0)
    assert await clock.asks("new", 50) == "wait queued"
    assert await clock.asks("old", 500) == "held"
    assert await clock.asks("new", 50) == "held"


async def test_large_asks_do_not_starve_behind_a_stream_of_small_ones(clock: Clock) -> None:
    small = [await clock.books.hold(f"small{number}", 100) for number in range(9)]
    assert await clock.asks("large", LIMIT) == "wait open_holds"
    assert await clock.asks("large", LIMIT) == "wait open_holds"
    for number, hold_id in enumerate(small):
        await clock.books.settle(hold_id, 0)
        assert await clock.asks(f"more{number}", 100) == "wait queued"
        large = await clock.asks("large", LIMIT)
    assert large == "held"


async def test_waiters_go_in_the_order_in_which_they_came(clock: Clock) -> None:
    busy = await clock.books.hold("busy", LIMIT)
    for _ in range(2):
        for key in ("first", "second", "third"):
            assert (await clock.asks(key, 400)).startswith("wait")
    await clock.books.settle(busy, 0)
    assert [await clock.asks(key, 400) for key in ("second", "first", "third", "second", "third")] == [
        "wait queued", "held", "wait queued", "held", "wait open_holds",
    ]  # fmt: skip


async def test_a_place_is_taken_with_the_second_ask(clock: Clock) -> None:
    """A caller that asks once and leaves does not block others."""
    await clock.books.hold("busy", 600)
    assert await clock.asks("once", 500) == "wait open_holds"
    assert await clock.asks("other", 400) == "held"


async def test_a_waiter_that_stops_asking_loses_its_place_and_comes_back_to_the_end(clock: Clock) -> None:
    busy = await clock.books.hold("busy", LIMIT)
    for key in ("gone", "gone", "here", "here"):
        assert (await clock.asks(key, 600)).startswith("wait")
    for _ in range(4):
        assert (await clock.asks("here", 600)).startswith("wait")
    for _ in range(2):
        assert (await clock.asks("gone", 600)).startswith("wait")
    await clock.books.settle(busy, 0)
    assert await clock.asks("gone", 600) == "wait queued"
    assert await clock.asks("here", 600) == "held"


async def test_a_place_ends_when_its_waiter_stops_asking(clock: Clock) -> None:
    await clock.books.hold("busy", 600)
    for _ in range(2):
        assert await clock.asks("gone", 500) == "wait open_holds"
    assert await clock.asks("other", 400) == "wait queued"
    clock.passes(5)
    assert await clock.asks("other", 400) == "held"


async def test_a_released_waiter_gives_up_its_place(clock: Clock) -> None:
    busy = await clock.books.hold("busy", 900)
    for _ in range(2):
        assert await clock.asks("old", 500) == "wait open_holds"
    await clock.books.ledger.release(TENANT, key="old")
    assert await clock.asks("new", 100) == "held"
    await clock.books.settle(busy, 0)


async def test_an_ask_refused_elsewhere_on_its_path_takes_no_place(clock: Clock) -> None:
    """Else an agent without a budget that asks on and on would block the whole session."""
    await clock.books.budget("agent:t1/a1", limit_tokens=10, mode="hard")
    await clock.books.hold("busy", 600)
    for _ in range(3):
        assert await clock.asks("broke", 500, "session:s1", "agent:t1/a1") == "refuse limit"
    await clock.books.budget("agent:t1/a1", frozen=True, clear=["limit_tokens"])
    for _ in range(3):
        assert await clock.asks("frozen", 500, "session:s1", "agent:t1/a1") == "refuse frozen"
    assert await clock.asks("new", 400) == "held"


async def test_two_that_wait_at_different_scopes_do_not_block_each_other(clock: Clock) -> None:
    await clock.books.budget("task:t1", limit_tokens=100, mode="hard")
    path = ("session:s1", "task:t1")
    task_busy = await clock.books.hold("task busy", 100, 0, "task:t1")
    for _ in range(2):
        assert await clock.asks("one", 100, *path) == "wait open_holds"  # at the task only
    session_busy = await clock.books.hold("session busy", 950)
    for _ in range(2):
        assert await clock.asks("other", 60, *path) == "wait open_holds"  # at the session, and queued at the task
    await clock.books.settle(task_busy, 0)
    await clock.books.settle(session_busy, 0)
    assert await clock.asks("one", 100, *path) == "held"
    assert await clock.asks("other", 60, *path) == "wait open_holds"
    await clock.books.ledger.release(TENANT, key="one")
    assert await clock.asks("other", 60, *path) == "held"


async def test_top_ups_pass_the_queue(clock: Clock) -> None:
    """Whoever waits is waiting for them."""
    running = await clock.books.hold("running", 400)
    for _ in range(2):
        assert await clock.asks("waiter", 900) == "wait open_holds"
    assert (await clock.books.ledger.extend(TENANT, running, Amount(100))).extended
    await clock.books.ledger.start_attempt(TENANT, running, 1)
    assert (await clock.books.ledger.start_attempt(TENANT, running, 2)).started


async def test_soft_and_unlimited_scopes_have_no_queue(clock: Clock) -> None:
    await clock.books.hold("busy", LIMIT)
    for _ in range(2):
        assert await clock.asks("old", 500) == "wait open_holds"
    await clock.books.budget("session:s1", mode="soft")
    assert await clock.asks("new", 50) == "held"


async def test_a_sweep_forgets_waiters_of_long_ago(clock: Clock) -> None:
    await clock.books.hold("busy", LIMIT)
    assert await clock.asks("old", 500) == "wait open_holds"
    clock.passes(3_602)
    await clock.books.ledger.sweep()
    assert (await clock.books.rows())["waiters"] == 0
