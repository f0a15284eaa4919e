"""Sums near the end of the range of a balance: nothing is lost, and the real costs of calls are still settled."""

from collections.abc import Awaitable, Callable

import asyncpg
import pytest

from purser.budget.errors import BeyondCounting
from purser.budget.gate import Amount
from purser.budget.postgres.connections.pools import Pool
from purser.gateway.http.problems import problem_of
from purser.wire.limits import MAX_CALL_NANO_USD
from tests.support.ledger import SESSION, TENANT, Books

HALFWAY, END = 2**62, 2**63 - 1
HONEST = 10**12
"""Nano-dollars of a large call: a thousand dollars."""


@pytest.fixture
async def books(pool: Pool) -> Books:
    """A ledger whose session has spent half of what a balance can count."""
    books = Books.on(pool)
    await books.hold("first", 100, HONEST)
    await spent(pool, HALFWAY)
    return books


async def held_first(books: Books) -> str:
    """The id of the hold that the session has from the beginning."""
    return str(await books.pool.fetchval("select hold_id from holds where key = 'first'"))


async def spent(pool: Pool, nano: int) -> None:
    await pool.execute("update balances set spent_nano = $1", nano)


async def test_one_large_call_more_is_refused_with_its_reason_and_leaves_nothing(books: Books) -> None:
    first = await held_first(books)
    asks: list[Callable[[], Awaitable[object]]] = [
        lambda: books.ask("large", 100, MAX_CALL_NANO_USD),
        lambda: books.settle(first, 100, MAX_CALL_NANO_USD),
        lambda: books.ledger.extend(TENANT, first, Amount(0, MAX_CALL_NANO_USD)),
    ]
    before = await books.rows()
    for ask in asks:
        with pytest.raises(BeyondCounting) as refused:
            await ask()
        problem = problem_of(refused.value)
        assert problem is not None
        assert problem.status == 422
    with pytest.raises(asyncpg.NumericValueOutOfRangeError):
        await books.grant(SESSION[0], 0, MAX_CALL_NANO_USD)
    assert await books.rows() == before


async def test_what_calls_really_cost_is_held_and_settled_all_the_same(books: Books) -> None:
    hold_id = await books.hold("honest", 100, HONEST)
    settled = await books.settle(hold_id, 100, HONEST)
    assert settled.charged == Amount(100, HONEST)
    assert (await books.money())["spent"] == HALFWAY + HONEST


async def test_at_the_very_end_the_error_names_the_reason(books: Books, pool: Pool) -> None:
    await spent(pool, END - 10)
    with pytest.raises(BeyondCounting, match="cannot count that much more"):
        await books.settle(await held_first(books), 100, 11 + HONEST)
