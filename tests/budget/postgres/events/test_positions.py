"""The order of events: a reader that resumes after a position misses nothing, in whatever order events commit."""

import asyncio
from datetime import timedelta

from purser.budget.postgres.connections.pools import Pool
from purser.budget.postgres.events.events import Event, EventKind, Events
from tests.support.events import put
from tests.support.ledger import TENANT


async def put_events(pool: Pool, *numbers: int, tenant: str = TENANT) -> None:
    async with pool.acquire() as own:
        for number in numbers:
            await put(own, tenant, EventKind.TASK, None, {"n": number})


def numbers(events: list[Event]) -> list[int]:
    return [event.data["n"] for event in events]


async def naive_reader(pool: Pool, after: int) -> list[int]:
    """Resumes after the highest id, which is the obvious but wrong way."""
    return [
        row["n"] for row in await pool.fetch("select (data ->> 'n')::int as n from events where event_id > $1", after)
    ]


async def test_what_takes_its_id_first_and_commits_last_is_not_skipped(pool: Pool) -> None:
    events = Events(pool)
    async with pool.acquire() as slow:
        transaction = slow.transaction()
        await transaction.start()
        await put(slow, TENANT, EventKind.TASK, None, {"n": 1})
        await put_events(pool, 2)
        await events.number()
        seen = await events.after(0, 10)
        highest_id = await pool.fetchval("select max(event_id) from events")
        await transaction.commit()
    await events.number()
    assert numbers(seen) == [2]
    assert numbers(await events.after(seen[-1].position, 10)) == [1]
    assert await naive_reader(pool, highest_id) == []


async def test_events_that_are_committed_together_keep_the_order_of_their_ids(pool: Pool) -> None:
    await put_events(pool, *range(50))
    await Events(pool).number()
    assert numbers(await Events(pool).after(0, 100)) == list(range(50))


async def test_what_is_rolled_back_gets_no_position(pool: Pool) -> None:
    async with pool.acquire() as own:
        transaction = own.transaction()
        await transaction.start()
        await put(own, TENANT, EventKind.TASK, None, {"n": 1})
        await transaction.rollback()
    assert await Events(pool).number() == 0


async def test_one_numbers_and_the_others_let_it(pool: Pool) -> None:
    await put_events(pool, 1, 2)
    async with pool.acquire() as first:
        transaction = first.transaction()
        await transaction.start()
        assert await first.fetchval("select number_events(10)") == 2
        assert await Events(pool).number() == 0
        assert await Events(pool).after(0, 10) == []
        await transaction.commit()
    assert numbers(await Events(pool).after(0, 10)) == [1, 2]


async def test_readers_that_follow_several_numberers_and_writers_see_everything_in_order(pool: Pool) -> None:
    events, done = Events(pool), asyncio.Event()

    async def number() -> None:
        while not done.is_set():
            await events.number()

    async def follow() -> list[int]:
        seen: list[Event] = []
        while len(seen) < 1_000:
            seen += await events.after(seen[-1].position if seen else 0, 37)
        return [event.position for event in seen]

    numbering = [asyncio.create_task(number()) for _ in range(3)]
    following = [asyncio.create_task(follow()) for _ in range(2)]
    await asyncio.gather(*(put_events(pool, *range(start, start + 250)) for start in range(0, 1_000, 250)))
    async with asyncio.timeout(60):
        one, other = await asyncio.gather(*following)
    done.set()
    await asyncio.gather(*numbering)
    assert one == other == sorted(set(one))


async def test_a_page_is_of_one_tenant(pool: Pool) -> None:
    await put_events(pool, 1)
    await put_events(pool, 2, tenant="other")
    await Events(pool).number()
    assert numbers(await Events(pool).page(TENANT, 0, 100)) == [1]


async def test_old_events_are_deleted_in_bounded_batches_and_what_is_gone_is_known(pool: Pool) -> None:
    events = Events(pool)
    await put_events(pool, 1, 2, 3)
    await events.number()
    await pool.execute("update events set at = at - interval '91 days' where (data ->> 'n')::int < 3")
    assert [await events.forget(timedelta(days=90), 1) for _ in range(3)] == [1, 1, 0]
    assert numbers(await events.after(0, 10)) == [3]
    assert (await events.forgotten(TENANT), await events.forgotten("other")) == (2, 0)


async def test_positions_go_on_when_all_events_are_gone(pool: Pool) -> None:
    events = Events(pool)
    await put_events(pool, 1, 2)
    await events.number()
    await events.forget(timedelta(0))
    assert await events.newest() == 2
    await put_events(pool, 3)
    await events.number()
    assert [event.position for event in await events.after(2, 10)] == [3]
