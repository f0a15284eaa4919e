"""Side calls: their holds under keys that are used again."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from purser.activities.calls.attempts import Attempt
from purser.activities.calls.side_calls import SideCalls
from purser.budget.errors import KeyReused
from purser.budget.postgres.connections.pools import Pool
from purser.budget.pricing.price_book import PriceBook
from purser.budget.scopes import Path
from purser.budget.usage import Usage
from tests.support.ledger import TENANT, Books

PATH = Path.parse(["session:s1"])


async def started(calls: SideCalls) -> Attempt | None:
    """The attempt of a call of 100 tokens under the key `k`, or `None` if it may not hold."""
    if (call := await calls.hold(TENANT, "k", PATH, 100)) is None:
        return None
    await call.start(asyncio.sleep(0))
    return call.started


async def test_an_activity_that_died_with_its_charged_reply_calls_again_under_a_further_key(pool: Pool) -> None:
    books = Books.on(pool)
    calls = SideCalls("m", books.ledger, PriceBook({}, {}, None))
    holds = set()
    for _ in range(3):
        attempt = await started(calls)
        assert attempt is not None
        await calls.attempts.settle(attempt, calls.attempts.report(attempt, Usage(input=60)))
        holds.add(attempt.hold_id)
    assert len(holds) == 3
    assert await books.balance() == {"spent": 180}
    assert await started(calls) is None
    await books.check()


async def test_an_activity_that_died_while_its_call_was_open_goes_on_under_the_same_hold(pool: Pool) -> None:
    books = Books.on(pool)
    calls = SideCalls("m", books.ledger, PriceBook({}, {}, None))
    first, second = [await started(calls) for _ in range(2)]
    assert first is not None
    assert second is not None
    assert (second.hold_id, second.number) == (first.hold_id, 2)
    await books.check()


async def test_an_activity_that_died_long_ago_calls_again_and_its_lost_call_is_charged(pool: Pool) -> None:
    books = Books.on(pool)
    calls = SideCalls("m", books.ledger, PriceBook({}, {}, None))
    died = await started(calls)
    assert died is not None
    books.at(datetime.now(UTC) + timedelta(days=1))
    assert await books.ledger.sweep() == 1
    again = await started(calls)
    assert again is not None
    assert again.hold_id != died.hold_id
    await calls.attempts.settle(again, calls.attempts.report(again, Usage(input=60)))
    assert await books.balance() == {"spent": 100 + 60}
    await books.check()


@pytest.mark.parametrize("is_charged", [True, False])
async def test_an_activity_that_died_before_messages_came_calls_again_with_them(pool: Pool, is_charged: bool) -> None:
    books = Books.on(pool)
    calls = SideCalls("m", books.ledger, PriceBook({}, {}, None))
    died = await started(calls)
    assert died is not None
    if is_charged:
        await calls.attempts.settle(died, calls.attempts.report(died, Usage(input=60)))
    assert await calls.hold(TENANT, "k", PATH, 120) is not None
    assert await books.balance() == {"spent": 60 if is_charged else 100, "held": 120}
    await books.check()


@pytest.mark.parametrize("error", [asyncio.CancelledError, KeyReused])
async def test_no_hold_remains_open_under_a_further_key_either(pool: Pool, error: type[BaseException]) -> None:
    books = Books.on(pool)
    calls = SideCalls("m", books.ledger, PriceBook({}, {}, None))
    died = await started(calls)
    assert died is not None
    await calls.attempts.settle(died, calls.attempts.report(died, Usage(input=60)))

    async def ends() -> None:
        assert await calls.hold(TENANT, "k", PATH, 100) is not None
        raise error("as requested")

    try:
        await calls.closed(TENANT, "k", ends(), otherwise=None)
    except asyncio.CancelledError:
        assert error is asyncio.CancelledError
    assert await books.balance() == {"spent": 60}
    await books.check()


async def test_a_cancelled_call_that_was_charged_is_called_again_under_a_further_key(pool: Pool) -> None:
    books = Books.on(pool)
    calls = SideCalls("m", books.ledger, PriceBook({}, {}, None))

    async def is_cancelled() -> None:
        attempt = await started(calls)
        assert attempt is not None
        await calls.attempts.settle(attempt, calls.attempts.report(attempt, Usage(input=60)))
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await calls.closed(TENANT, "k", is_cancelled(), otherwise=None)
    assert await started(calls) is not None
    await books.check()
