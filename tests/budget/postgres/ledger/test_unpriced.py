"""Asks and reports of unknown price: the ledger judges them under its locks, and writes nothing if it needs a price."""

import asyncio
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from purser.budget.errors import KeyReused, MoneyNeeded, NotFound, UnknownPrice
from purser.budget.gate import Amount, Verdict
from purser.budget.holds import HoldAnswer, HoldRequest, HoldState, Report, Settlement
from purser.budget.policies.policy import PolicyPatch
from purser.budget.scopes import Scope
from purser.budget.usage import Usage
from tests.support.actors import TESTER
from tests.support.ledger import TENANT, Books, meet, request

TASK = ("session:s1", "task:t1")
LIMIT = 10**9


def needs_a_price(answer: HoldAnswer) -> bool:
    return answer.hold_id is None and answer.gate.unpriced and answer.gate.verdict is Verdict.REFUSE


async def limit_money(books: Books, connection: Any) -> None:
    patch = PolicyPatch(limit_nano_usd=LIMIT)
    await books.policies.set(TENANT, Scope.parse("session:s1"), patch, by=TESTER, connection=connection)


@pytest.mark.parametrize("mode", ["soft", "approval", "hard"])
async def test_where_money_is_limited_nothing_is_held_without_a_price(books: Books, mode: str) -> None:
    await books.budget("task:t1", limit_nano_usd=LIMIT, mode=mode)
    before = await books.rows()
    answer = await books.ask("k", 10, 0, *TASK, priced=False)
    assert needs_a_price(answer)
    assert str(answer.gate.decisive.scope) == "task:t1"
    assert await books.rows() == before, "not even the scopes are new"


async def test_where_tokens_alone_are_limited_no_price_is_needed(books: Books) -> None:
    await books.budget("session:s1", limit_tokens=100, mode="hard")
    assert (await books.ask("k", 500, priced=False, least=Amount(50))).amount == Amount(100)
    assert (await books.balance(), await books.money()) == ({"held": 100}, {})


async def test_zero_is_a_price(books: Books) -> None:
    await books.budget("session:s1", limit_nano_usd=LIMIT, mode="hard")
    assert (await books.ask("k", 10, 0)).hold_id


async def test_the_same_key_may_come_again_with_a_price(books: Books) -> None:
    await books.budget("session:s1", limit_nano_usd=LIMIT, mode="hard")
    assert needs_a_price(await books.ask("k", 10, priced=False))
    assert (await books.ask("k", 10, 7)).amount == Amount(10, 7)


async def test_nothing_stated_is_another_payload_than_zero(books: Books) -> None:
    await books.hold("k", 10, 0)
    with pytest.raises(KeyReused):
        await books.ask("k", 10, priced=False)


async def test_a_hold_without_a_price_repeats_its_answer_after_money_was_limited(books: Books) -> None:
    first = await books.ask("k", 10, priced=False)
    await books.budget("session:s1", limit_nano_usd=LIMIT, mode="hard")
    assert await books.ask("k", 10, priced=False) == replace(first, repeated=True)


async def test_an_ask_that_waits_keeps_its_place_while_it_needs_a_price(books: Books) -> None:
    await books.budget("session:s1", limit_tokens=100, mode="hard")
    await books.hold("open", 100)
    assert (await books.ask("k", 10, priced=False)).gate.verdict is Verdict.WAIT
    await books.budget("session:s1", limit_nano_usd=LIMIT)
    before = await books.rows()
    assert needs_a_price(await books.ask("k", 10, priced=False))
    assert await books.rows() == before


async def test_an_ask_sees_a_money_limit_that_was_set_while_it_waited(books: Books) -> None:
    await books.spend("before", 100)

    ask = partial(books.ask, "next", 10, priced=False)
    assert needs_a_price(await meet(books.pool, partial(limit_money, books), ask))


async def test_an_ask_in_a_transaction_leaves_it_whole(books: Books) -> None:
    await books.budget("session:s1", limit_nano_usd=LIMIT)
    async with books.pool.acquire() as own, own.transaction():
        await books.ledger.hold(TENANT, request("before", 1, 5), connection=own)
        assert needs_a_price(await books.ledger.hold(TENANT, request("k", 10, priced=False), connection=own))
    assert await books.money() == {"held": 5}


async def test_an_addition_needs_a_price_where_money_is_limited(books: Books) -> None:
    hold_id = await books.hold("k", 100, priced=False)
    fits = await books.ledger.extend(TENANT, hold_id, Amount(50), priced=False)
    assert (fits.extended, fits.amount) == (True, Amount(150))
    await books.budget("session:s1", limit_nano_usd=LIMIT)
    short = await books.ledger.extend(TENANT, hold_id, Amount(50), priced=False)
    assert short.gate is not None
    assert (short.extended, short.amount, short.gate.unpriced) == (False, Amount(50), True)
    assert (await books.ledger.extend(TENANT, hold_id, Amount(50, 0))).amount == Amount(200)
    assert (await books.ledger.extend(TENANT, hold_id)).extended, "a lease costs nothing"


UNPRICED = Report(Usage(output=30), 0, priced=False)


async def settle(books: Books, hold_id: str) -> Settlement:
    """Settles a hold without a price, for a caller that could state one."""
    return await books.ledger.settle(TENANT, hold_id, 1, UNPRICED, must_be_priced=True)


async def test_a_report_needs_a_price_where_money_is_limited(books: Books) -> None:
    unnamed = await books.hold("k1", 100, 0, *TASK, priced=False)
    named = await books.hold("k2", 100, 0, *TASK, priced=False, model="nobody-knows")
    await books.budget("task:t1", limit_nano_usd=LIMIT)
    before = await books.rows()
    with pytest.raises(MoneyNeeded, match="task:t1"):
        await settle(books, unnamed)
    with pytest.raises(UnknownPrice, match="nobody-knows") as unknown:
        await settle(books, named)
    assert unknown.value.limit == LIMIT
    assert await books.rows() == before
    assert (await books.settle(unnamed, 30, 7)).charged == Amount(30, 7)
    assert (await books.ledger.settle(TENANT, named, 1, UNPRICED)).charged == Amount(30), "no one can state it"


async def test_a_report_without_a_price_is_settled_where_tokens_alone_are_limited(books: Books) -> None:
    await books.budget("session:s1", limit_tokens=100)
    settled = await settle(books, await books.hold("k", 50, priced=False))
    assert (settled.state, settled.charged) == (HoldState.SETTLED, Amount(30))
    with pytest.raises(NotFound):
        await settle(books, "4711")


async def test_a_report_sees_a_money_limit_that_was_set_while_it_waited(books: Books) -> None:
    hold_id = await books.hold("k", 100, priced=False)
    with pytest.raises(MoneyNeeded):
        await meet(books.pool, partial(limit_money, books), lambda: settle(books, hold_id))
    assert await books.balance() == {"held": 100}


async def test_a_settled_report_repeats_its_answer_after_money_was_limited(books: Books) -> None:
    hold_id = await books.hold("k", 100, priced=False)
    first = await settle(books, hold_id)
    await books.budget("session:s1", limit_nano_usd=LIMIT)
    assert await settle(books, hold_id) == first


async def test_asks_with_and_without_a_price_travel_together(books: Books) -> None:
    """Where one of them needs a price, each of them gets its own answer."""
    await books.budget("session:s2", limit_nano_usd=LIMIT, mode="hard")
    for session in ("s1", "s2"):
        await books.spend(session, 1, 0, f"session:{session}")

    async def travel(*asks: HoldRequest) -> list[HoldAnswer]:
        return list(await asyncio.gather(*(books.ledger.hold(TENANT, ask) for ask in asks)))

    plain = await travel(*(request(f"a{n}", 10, 3 * (n % 2), priced=bool(n % 2)) for n in range(4)))
    assert [answer.amount for answer in plain] == [Amount(10), Amount(10, 3)] * 2
    mixed = await travel(
        request("b1", 10, priced=False),
        request("b2", 10, 3, "session:s2"),
        request("b3", 10, 0, "session:s2", priced=False),
    )
    assert [needs_a_price(answer) for answer in mixed] == [False, False, True]
    assert [answer.hold_id is None for answer in mixed] == [False, False, True]
    assert await books.money("session:s2") == {"held": 3}
