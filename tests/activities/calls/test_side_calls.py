"""Side calls: their holds under keys that are used again."""

from purser.activities.calls.side_calls import SideCalls
from purser.budget.postgres.connections.pools import Pool
from purser.budget.pricing.price_book import PriceBook
from purser.budget.scopes import Path
from purser.budget.usage import Usage
from tests.support.ledger import TENANT, Books

PATH = Path.parse(["session:s1"])


async def test_an_activity_that_died_with_its_charged_reply_calls_again_under_a_further_key(pool: Pool) -> None:
    books = Books.on(pool)
    calls = SideCalls("m", books.ledger, PriceBook({}, {}, None))
    holds = set()
    for _ in range(3):
        attempt = await calls.start(TENANT, "k", PATH, 100)
        assert attempt is not None
        await calls.attempts.settle(attempt, calls.attempts.report(attempt, Usage(input=60)))
        holds.add(attempt.hold_id)
    assert len(holds) == 3
    assert await books.balance() == {"spent": 180}
    assert await calls.start(TENANT, "k", PATH, 100) is None
    await books.check()


async def test_an_activity_that_died_while_its_call_was_open_goes_on_under_the_same_hold(pool: Pool) -> None:
    books = Books.on(pool)
    calls = SideCalls("m", books.ledger, PriceBook({}, {}, None))
    first, second = [await calls.start(TENANT, "k", PATH, 100) for _ in range(2)]
    assert first is not None
    assert second is not None
    assert (second.hold_id, second.number) == (first.hold_id, 2)
    await books.check()
