"""The feed: each subscriber gets each of its events once and in order, even if it falls behind or reconnects."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest
from structlog.testing import capture_logs

from purser.budget.errors import LedgerUnavailable
from purser.budget.postgres.connections.pools import Pool
from purser.budget.postgres.events.events import Event, EventKind, Events
from purser.budget.scopes import Scope
from purser.gateway.events import feed as module
from purser.gateway.events.feed import Feed, Gap, Start, Subscription
from tests.support.events import put
from tests.support.ledger import TENANT

SESSION = Scope.parse("session:s1")
OLDEST = Start(0, None)


@asynccontextmanager
async def running(pool: Pool, events: Events | None = None) -> AsyncIterator[Feed]:
    feed, stop = Feed(events or Events(pool)), asyncio.Event()
    task = asyncio.create_task(feed.run(stop))
    try:
        yield feed
    finally:
        stop.set()
        await task


@pytest.fixture
async def feed(pool: Pool) -> AsyncIterator[Feed]:
    async with running(pool) as feed:
        yield feed


async def put_events(
    pool: Pool, *numbers: int, tenant: str = TENANT, kind: EventKind = EventKind.TASK, scope: Scope | None = SESSION
) -> None:
    """One event a number, each a transaction of its own."""
    async with pool.acquire() as own:
        for number in numbers:
            await put(own, tenant, kind, scope, {"n": number})


async def take(events: Subscription, count: int) -> list[int]:
    """The numbers of the next events."""
    return [event.data["n"] for event in await read(events, count)]


async def read(events: Subscription, count: int) -> list[Event]:
    async with asyncio.timeout(30):
        return [await anext(events) for _ in range(count)]


async def until(reached: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not reached():
            await asyncio.sleep(0.01)


async def test_without_a_position_a_subscriber_gets_what_happens_from_now_on(pool: Pool, feed: Feed) -> None:
    await put_events(pool, 1, 2)
    await until(lambda: feed.position == 2)
    async with feed.subscribe(TENANT) as events:
        await put_events(pool, 3)
        assert await take(events, 1) == [3]


async def test_what_happens_between_the_start_and_the_subscription_is_not_lost(pool: Pool, feed: Feed) -> None:
    await put_events(pool, 1)
    await until(lambda: feed.position == 1)
    start = await feed.start(TENANT, None)
    assert start == Start(1, None)
    await put_events(pool, 2)
    await until(lambda: feed.position == 2)
    async with feed.subscribe(TENANT, start=start) as events:
        assert await take(events, 1) == [2]


async def test_behind_a_position_it_gets_all_that_followed_and_then_what_happens(pool: Pool, feed: Feed) -> None:
    await put_events(pool, 1, 2, 3)
    async with feed.subscribe(TENANT, start=OLDEST) as events:
        first, *_ = await read(events, 3)
    async with feed.subscribe(TENANT, start=Start(first.position, None)) as events:
        assert await take(events, 2) == [2, 3]
        await put_events(pool, 4)
        await put_events(pool, 5)
        assert await take(events, 2) == [4, 5]


async def test_it_sees_its_own_tenant_only(pool: Pool, feed: Feed) -> None:
    await put_events(pool, 1, tenant="other")
    await until(lambda: feed.position == 1)  # what it gets now comes from the table
    async with feed.subscribe(TENANT, start=OLDEST) as events:
        await put_events(pool, 2, tenant="other")
        await put_events(pool, 3)
        assert await take(events, 1) == [3]
        for number in (4, 6):
            await put_events(pool, number, tenant="other")  # what it gets now comes from the reader
            await put_events(pool, number + 1)
        assert await take(events, 2) == [5, 7]


async def test_it_may_ask_for_kinds_and_scopes_with_their_further_limits_and_a_task_includes_its_agents(
    pool: Pool, feed: Feed
) -> None:
    task, agent, other, by_day = (
        Scope.parse(text) for text in ("task:t1", "agent:t1/a", "agent:t2/a", "agent:t1/a@day")
    )

    async def everything() -> None:
        await put_events(pool, 1, scope=task)
        await put_events(pool, 2, scope=agent, kind=EventKind.TURN)
        await put_events(pool, 3, scope=other, kind=EventKind.TURN)
        await put_events(pool, 4, scope=None)
        await put_events(pool, 5, scope=by_day)

    await everything()
    async with (
        feed.subscribe(TENANT, [EventKind.TURN], OLDEST) as turns,
        feed.subscribe(TENANT, None, OLDEST, scopes=[task]) as of_task,
        feed.subscribe(TENANT, [EventKind.TURN], OLDEST, scopes=[agent]) as both,
        feed.subscribe(TENANT, None, OLDEST, scopes=[agent]) as of_agent,
        feed.subscribe(TENANT, None, OLDEST, scopes=[by_day]) as of_limit,
    ):
        assert await take(turns, 2) == [2, 3]
        assert await take(of_task, 3) == [1, 2, 5]
        assert await take(both, 1) == [2]
        assert await take(of_agent, 2) == [2, 5]
        assert await take(of_limit, 1) == [5]
        await everything()  # the same once they are live
        assert await take(turns, 2) == [2, 3]
        assert await take(of_task, 3) == [1, 2, 5]
        assert await take(both, 1) == [2]
        assert await take(of_agent, 2) == [2, 5]
        assert await take(of_limit, 1) == [5]


async def test_subscribers_that_join_under_load_lose_and_repeat_nothing(pool: Pool, feed: Feed) -> None:
    async def listen(pause: float) -> list[int]:
        await asyncio.sleep(pause)
        async with feed.subscribe(TENANT, start=OLDEST) as events:
            return await take(events, 1_000)

    writing = [put_events(pool, *range(start, start + 200)) for start in range(0, 1_000, 200)]
    heard = await asyncio.gather(*writing, *(listen(pause / 20) for pause in range(6)))
    for numbers in heard[len(writing) :]:
        assert numbers is not None
        assert sorted(numbers) == list(range(1_000))


async def test_a_subscriber_that_falls_behind_loses_nothing_and_buffers_little(
    pool: Pool, feed: Feed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "BUFFER", 5)
    monkeypatch.setattr(module, "PAGE", 7)
    async with feed.subscribe(TENANT) as slow, feed.subscribe(TENANT) as quick:
        await put_events(pool, 0)
        assert await take(slow, 1) == [0]
        for start in range(1, 100, 3):
            await put_events(pool, *range(start, start + 3))
            assert len(await take(quick, 4 if start == 1 else 3)) >= 3
            assert len(slow._events) <= 5
        assert await take(slow, 99) == list(range(1, 100))
        await put_events(pool, 100)
        await put_events(pool, 101)
        assert await take(slow, 2) == [100, 101]


async def test_two_processes_give_the_same_positions(pool: Pool, feed: Feed) -> None:
    async with (
        running(pool) as other,
        feed.subscribe(TENANT, start=OLDEST) as here,
        other.subscribe(TENANT, start=OLDEST) as there,
    ):
        await asyncio.gather(*(put_events(pool, *range(start, start + 50)) for start in range(0, 500, 50)))
        assert await read(here, 500) == await read(there, 500)


async def test_an_event_that_another_process_has_shown_already_is_not_shown_again(pool: Pool) -> None:
    events = Events(pool)
    await put_events(pool, 1)
    await events.number()
    async with running(pool) as feed:
        await until(lambda: feed.position == 1)
        start = await feed.start(TENANT, 1)
        assert start == Start(1, None)
        feed.position = 0  # it has not read what the client has seen elsewhere
        async with feed.subscribe(TENANT, start=start) as own:
            await put_events(pool, 2)
            assert await take(own, 1) == [2]


async def test_a_subscriber_that_comes_back_after_retention_has_a_gap(pool: Pool, feed: Feed) -> None:
    await put_events(pool, 1, 2, 3)
    await put_events(pool, 4, tenant="other")
    await until(lambda: feed.position == 4)
    assert await Events(pool).forget(timedelta(0), 2) == 2
    late, just = await feed.start(TENANT, 1), await feed.start(TENANT, 2)
    assert (late, just) == (Start(1, Gap.FORGOTTEN), Start(2, None))
    for start in (late, just):
        async with feed.subscribe(TENANT, start=start) as events:
            assert await take(events, 1) == [3]
    assert await feed.start("other", 0) == Start(0, None)


async def test_a_position_that_was_never_given_continues_with_what_comes(pool: Pool, feed: Feed) -> None:
    await put_events(pool, 1)
    await until(lambda: feed.position == 1)
    start = await feed.start(TENANT, 1_000)
    assert start == Start(1, Gap.AHEAD)
    async with feed.subscribe(TENANT, start=start) as events:
        await put_events(pool, 2)
        assert await take(events, 1) == [2]


@pytest.mark.parametrize("written", [0, 2, 5])
async def test_when_postgres_has_lost_events_that_were_read_subscriptions_end_with_a_gap(
    pool: Pool, written: int
) -> None:
    events = Away(pool)
    async with running(pool, events) as feed, feed.subscribe(TENANT, start=OLDEST) as own:
        await put_events(pool, *range(5))
        assert await take(own, 5) == [0, 1, 2, 3, 4]
        events.away = True
        await pool.execute("delete from events where position > 2")
        await pool.execute("select setval('event_positions', 2)")
        await put_events(pool, *range(10, 10 + written))
        events.away = False
        async with asyncio.timeout(30):
            assert await anext(own, None) is None
        assert own.gap is Gap.AHEAD
        assert await feed.start(TENANT, None) == Start(2 + written, None)
        async with feed.subscribe(TENANT) as again:
            await put_events(pool, 99)
            [found] = await read(again, 1)
        assert feed.encoded(found, lambda event: str(event.data["n"]).encode()) == b"99"


async def test_whoever_begins_after_a_loss_is_not_ended_for_it(pool: Pool) -> None:
    events = Unnumbered(pool)
    async with running(pool, events) as feed, feed.subscribe(TENANT, start=OLDEST) as own:
        await put_events(pool, *range(5))
        assert await take(own, 5) == [0, 1, 2, 3, 4]
        events.away = True
        await pool.execute("delete from events where position > 2")
        await pool.execute("select setval('event_positions', 2)")
        await put_events(pool, 10)
        await Events(pool).number()
        start = await feed.start(TENANT, 2)
        assert (start, own.gap) == (Start(2, None), Gap.AHEAD)
        events.away = False
        async with feed.subscribe(TENANT, start=start) as again:
            assert await take(again, 1) == [10]


async def test_an_event_that_retention_deletes_before_the_next_one_is_read_is_no_loss(pool: Pool) -> None:
    events = Away(pool)
    async with running(pool, events) as feed, feed.subscribe(TENANT, start=OLDEST) as own:
        await put_events(pool, 1)
        assert await take(own, 1) == [1]
        events.away = True
        assert await Events(pool).forget(timedelta(0)) == 1
        await put_events(pool, 2)
        await Events(pool).number()
        events.away = False
        assert await take(own, 1) == [2]


async def test_a_read_whose_answer_comes_after_another_stream_has_begun_is_no_loss(pool: Pool) -> None:
    events = Slow(pool)
    async with running(pool, events) as feed:
        async with feed.subscribe(TENANT, start=OLDEST) as own:
            await put_events(pool, 1, 2)
            assert await take(own, 2) == [1, 2]
            events.free.clear()
            asked = events.asked
            feed.poke()
            await until(lambda: events.asked > asked)
        await put_events(pool, 3)
        await Events(pool).number()
        start = await feed.start(TENANT, None)
        assert start == Start(3, None)
        async with feed.subscribe(TENANT, start=start) as again:
            events.free.set()
            await put_events(pool, 4)
            assert await take(again, 1) == [4]


async def test_while_retention_deletes_the_last_event_that_was_read_a_subscription_goes_on(pool: Pool) -> None:
    async with running(pool) as feed, feed.subscribe(TENANT, start=OLDEST) as own:
        await put_events(pool, 1)
        assert await take(own, 1) == [1]
        assert await Events(pool).forget(timedelta(0)) == 1
        await until(lambda: feed._last is None)
        await put_events(pool, 2)
        assert await take(own, 1) == [2]


async def test_when_it_stops_all_subscriptions_end(pool: Pool) -> None:
    async with running(pool) as feed, feed.subscribe(TENANT) as events:
        waiting = asyncio.create_task(anext(events, None))
        await asyncio.sleep(0)
        feed.close()
        assert await waiting is None
        async with feed.subscribe(TENANT) as later:
            assert await anext(later, None) is None
    assert feed.subscribers == 0


class Away(Events):
    """Events of a Postgres that is away for a while."""

    away = False

    async def after(self, position: int, limit: int) -> list[Event]:
        if self.away:
            raise LedgerUnavailable("away")
        return await super().after(position, limit)


class Slow(Events):
    """Events whose reading takes until it is free to end."""

    def __init__(self, pool: Pool) -> None:
        super().__init__(pool)
        self.asked, self.free = 0, asyncio.Event()
        self.free.set()

    async def after(self, position: int, limit: int) -> list[Event]:
        found = await super().after(position, limit)
        self.asked += 1
        await self.free.wait()
        return found


class Unnumbered(Events):
    """Events of a reader that is held up."""

    away = False

    async def number(self) -> int:
        if self.away:
            raise LedgerUnavailable("away")
        return await super().number()


async def test_while_postgres_is_away_it_waits_and_then_goes_on(pool: Pool) -> None:
    events = Away(pool)
    with capture_logs() as logs:
        async with running(pool, events) as feed, feed.subscribe(TENANT) as own:
            events.away = True
            await put_events(pool, 1)
            await until(lambda: len(logs) >= 2)
            events.away = False
            assert await take(own, 1) == [1]
    assert {line["error"] for line in logs} == {"LedgerUnavailable"}


async def test_a_subscriber_that_leaves_is_removed(pool: Pool, feed: Feed) -> None:
    async with feed.subscribe(TENANT), feed.subscribe("other"):
        assert feed.subscribers == 2
    assert feed.subscribers == 0


async def test_an_event_reaches_a_few_subscribers_at_a_time(pool: Pool, feed: Feed) -> None:
    reached: list[int] = []

    async def follow() -> None:
        async with feed.subscribe(TENANT) as events:
            await take(events, 1)
            reached.append(at)

    following = [asyncio.create_task(follow()) for _ in range(4 * module.SLICE)]
    at = 0
    await until(lambda: feed.subscribers == len(following))
    await put_events(pool, 1)
    async with asyncio.timeout(30):
        while len(reached) < len(following):
            await asyncio.sleep(0)  # as a request that waits for its turn
            at += 1
    assert max(Counter(reached).values()) <= module.SLICE


class Unforgotten(Events):
    """Events of which none is forgotten, so that a subscriber joins at once."""

    async def forgotten(self, tenant: str) -> int:
        return 0


async def test_who_joins_while_an_event_is_on_its_way_gets_it_once(pool: Pool) -> None:
    async with running(pool, Unforgotten(pool)) as feed:

        async def join_on_the_first() -> list[int]:
            async with feed.subscribe(TENANT) as events:
                await take(events, 1)
                async with feed.subscribe(TENANT, start=Start(before, None)) as joined:
                    return await take(joined, 2)

        joining = [asyncio.create_task(join_on_the_first()) for _ in range(2 * module.SLICE)]
        await until(lambda: feed.subscribers == len(joining))
        before = feed.position
        await put_events(pool, 1)
        await until(lambda: feed.position > before)
        await put_events(pool, 2)
        assert await asyncio.gather(*joining) == [[1, 2]] * len(joining)
