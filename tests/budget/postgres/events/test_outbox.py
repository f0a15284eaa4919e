"""The outbox: sent if committed, at least once, by any number of dispatchers."""

import asyncio
from datetime import UTC, datetime, timedelta

from purser.budget.postgres.connections.pools import Connection, Pool
from purser.budget.postgres.connections.queries import load
from purser.budget.postgres.events.outbox import LEASE, Outbox, put
from tests.support.ledger import TENANT, meet

SQL = load("purser.budget.postgres.events", "outbox.sql")

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


async def fill(pool: Pool, count: int) -> None:
    async with pool.acquire() as connection:
        for n in range(count):
            await put(connection, TENANT, f"w{n}", "wake", {"n": n}, NOW)


async def test_a_message_of_a_transaction_that_fails_is_never_sent(pool: Pool) -> None:
    async with pool.acquire() as connection:
        transaction = connection.transaction()
        await transaction.start()
        await put(connection, TENANT, "w", "wake", {}, NOW)
        await transaction.rollback()
    assert await Outbox(pool, now=NOW).claim() == []


async def test_dispatchers_that_claim_at_once_get_different_messages(pool: Pool) -> None:
    await fill(pool, 40)
    claims = await asyncio.gather(*(Outbox(pool, now=NOW).claim(10) for _ in range(8)))
    taken = [message.workflow_id for claim in claims for message in claim]
    # Without `skip locked` and the lease, the same message would go out several times.
    assert len(taken) == len(set(taken))
    rest = await Outbox(pool, now=NOW).claim(100)
    assert len(taken) + len(rest) == 40


async def test_a_message_that_another_dispatcher_is_taking_is_passed_over(pool: Pool) -> None:
    await fill(pool, 1)
    taken: list[int] = []

    async def claim(connection: Connection) -> None:
        taken.extend(row["outbox_id"] for row in await connection.fetch(SQL["claim"], 10, LEASE, NOW))

    rest = await meet(pool, claim, Outbox(pool, now=NOW).claim)
    assert (len(taken), rest) == (1, [])


async def test_messages_come_in_order_with_what_was_put(pool: Pool) -> None:
    await fill(pool, 3)
    messages = await Outbox(pool, now=NOW).claim()
    assert [(p.workflow_id, p.signal, p.payload) for p in messages] == [(f"w{n}", "wake", {"n": n}) for n in range(3)]


async def test_a_sent_message_is_not_sent_again(pool: Pool) -> None:
    outbox = Outbox(pool, now=NOW)
    await fill(pool, 1)
    (message,) = await outbox.claim()
    await outbox.sent(message)
    # Another dispatcher, whose lease had lapsed before, was less lucky.
    await outbox.failed(message)
    outbox.now = NOW + timedelta(days=1)
    assert await outbox.claim() == []


async def test_what_a_dead_dispatcher_had_in_hand_is_sent_by_another_after_the_lease(pool: Pool) -> None:
    outbox = Outbox(pool, now=NOW)
    await fill(pool, 1)
    (first,) = await outbox.claim()
    outbox.now = NOW + LEASE - timedelta(microseconds=1)
    assert await outbox.claim() == []
    outbox.now = NOW + LEASE
    (second,) = await outbox.claim()
    assert (second.outbox_id, second.tries) == (first.outbox_id, 2)


async def test_a_failed_message_backs_off(pool: Pool) -> None:
    now, outbox = NOW, Outbox(pool, now=NOW)
    await fill(pool, 1)
    for pause in (1, 2, 4, 8, 16, 30, 30):
        (message,) = await outbox.claim()
        await outbox.failed(message)
        now += timedelta(seconds=pause)
        outbox.now = now - timedelta(microseconds=1)
        assert await outbox.claim() == []
        outbox.now = now
