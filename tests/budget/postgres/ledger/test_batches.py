"""Batches of asks and settlements: written as a whole, or not at all and then one by one."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from purser.budget.errors import AttemptConflict, HoldClosed, KeyReused, NotFound
from purser.budget.gate import Verdict
from purser.budget.holds import HoldRequest
from purser.budget.policies import PolicyPatch
from purser.budget.postgres.ledger.batches import Ask, Settle, hold_together, settle_together
from purser.budget.scopes import Scope
from purser.budget.windows import Window
from tests.support.actors import TESTER
from tests.support.ledger import TENANT, Books, meet, report, request


async def held(books: Books, *requests: HoldRequest) -> list[str | None] | None:
    """Hold ids of a batch, None if it is not plain."""
    answers = await hold_together(books.pool, books.settings, books.ledger.now, [Ask(TENANT, one) for one in requests])
    return None if answers is None else [answer.hold_id for answer in answers]


async def settled(books: Books, *reports: tuple[str, int, int]) -> bool:
    """Whether a batch of hold, attempt and tokens settled."""
    settles = [Settle(TENANT, int(hold_id), attempt, report(tokens)) for hold_id, attempt, tokens in reports]
    return await settle_together(books.pool, books.ledger.now, settles) is not None


async def together(books: Books, calls: Sequence[Any]) -> list[Any]:
    """Results or errors of calls that arrive while the batcher is busy, so that they share one batch."""
    first = asyncio.ensure_future(books.ledger.hold(TENANT, request("first", 1, 0, "session:other")))
    await asyncio.sleep(0)
    results = await asyncio.gather(*calls, return_exceptions=True)
    await first
    return results


async def used_session(books: Books) -> Books:
    """A hard session of 1,000 tokens that has been used."""
    await books.budget("session:s1", limit_tokens=1_000, limit_nano_usd=1_000, mode="hard")
    await books.spend("known", 100, 100)
    return books


@pytest.fixture
async def session(books: Books) -> Books:
    return await used_session(books)


# --- asks ------------------------------------------------------------------------------------------------------------


async def test_new_asks_that_all_fit_are_held_as_if_one_came_after_the_other(session: Books) -> None:
    ids = await held(session, request("a", 100, 1), request("b", 200, 2, "session:s1"), request("c", 600, 3))
    assert ids is not None
    assert len(set(ids)) == 3
    assert (await session.balance(), await session.money()) == ({"spent": 100, "held": 900}, {"spent": 100, "held": 6})


@pytest.mark.parametrize(
    "requests",
    [
        pytest.param([request("a", 500), request("b", 401)], id="their tokens do not fit together"),
        pytest.param([request("a", 1, 500), request("b", 1, 401)], id="their money does not fit together"),
        pytest.param([request("a", 1), request("known", 100, 100)], id="one key is known"),
        pytest.param([request("known", 100, 100), request("open", 10)], id="all keys are known"),
        pytest.param([request("a", 1), request("known", 1)], id="a key is bound to another payload"),
        pytest.param([request("a", 1), request("b", 1, 0, "session:new")], id="a scope is new"),
        pytest.param([request("a", 1), request("b", 1, 0, "session:frozen")], id="a scope is frozen"),
        pytest.param([request("a", 1), request("b", 1, 0, "session:nothing")], id="a scope has no capacity"),
        pytest.param([request("a", 1), request("b", 1, priced=False)], id="one needs a price"),
    ],
)
async def test_a_batch_that_is_not_plain_writes_nothing(session: Books, requests: list[HoldRequest]) -> None:
    await session.hold("open", 10)
    await session.hold("x", 1, 0, "session:frozen")
    await session.budget("session:frozen", frozen=True)
    await session.hold("y", 1, 0, "session:nothing")
    await session.budget("session:nothing", limit_nano_usd=0, mode="hard")
    before = await session.rows(), await session.balance()
    assert await held(session, *requests) is None
    assert (await session.rows(), await session.balance()) == before


async def test_a_batch_does_not_overtake_older_waiters(session: Books) -> None:
    await session.hold("busy", 800)
    for _ in range(2):
        assert (await session.ask("waiter", 900)).gate.verdict is Verdict.WAIT
    assert await held(session, request("a", 1), request("b", 1)) is None


async def test_a_batch_does_not_use_grants_that_have_ended(session: Books) -> None:
    await session.grant("session:s1", 1_000, 0, await session.pool.fetchval("select now()"))
    assert await held(session, request("a", 500), request("b", 401)) is None


async def test_a_batch_sees_a_policy_that_changed_while_it_waited(session: Books) -> None:
    async def freeze(connection: Any) -> None:
        patch = PolicyPatch(frozen=True)
        await session.policies.set(TENANT, Scope.parse("session:s1"), patch, by=TESTER, connection=connection)

    assert await meet(session.pool, freeze, lambda: held(session, request("a", 1), request("b", 1))) is None


async def test_a_batch_sees_a_window_that_changed_while_it_waited(session: Books) -> None:
    """Else it would hold in the old window what the limit counts in the new one."""

    async def change(connection: Any) -> None:
        patch = PolicyPatch(window=Window.DAY)
        await session.policies.set(TENANT, Scope.parse("session:s1"), patch, by=TESTER, connection=connection)

    assert await meet(session.pool, change, lambda: held(session, request("a", 1), request("b", 1))) is None


async def test_in_one_batch_each_call_gets_its_own_answer_or_its_own_error(session: Books) -> None:
    await session.ledger.release(TENANT, key="closed")
    fits, repeat, reused, closed, large = await together(
        session,
        [
            session.ask("a", 400),
            session.ask("known", 100, 100),
            session.ask("known", 101),
            session.ask("closed", 1),
            session.ask("b", 901),
        ],
    )
    assert (fits.amount.tokens, fits.repeated) == (400, False)
    assert (repeat.amount.tokens, repeat.repeated) == (100, True)
    assert isinstance(reused, KeyReused)
    assert isinstance(closed, HoldClosed)
    assert large.gate.verdict is Verdict.REFUSE
    assert await session.balance() == {"spent": 100, "held": 400}


async def test_retries_that_travel_together_hold_nothing_anew(session: Books) -> None:
    asks = [("a", 100), ("b", 200), ("c", 300)]
    first = await together(session, [session.ask(*ask) for ask in asks])
    again = await together(session, [session.ask(*ask) for ask in asks])
    assert [answer.hold_id for answer in again] == [answer.hold_id for answer in first]
    assert [answer.gate for answer in again] == [answer.gate for answer in first]
    assert await session.balance() == {"spent": 100, "held": 600}


async def test_tenants_do_not_share_a_batch(session: Books) -> None:
    ours, theirs = await together(session, [session.ask("a", 900), session.ledger.hold("other", request("a", 5_000))])
    assert ours.hold_id != theirs.hold_id
    assert await session.balance() == {"spent": 100, "held": 900}


# --- settlements -----------------------------------------------------------------------------------------------------


async def test_settlements_within_what_is_held_are_written_together(session: Books) -> None:
    one, other = await session.hold("a", 100, 10), await session.hold("b", 200, 20)
    await session.ledger.start_attempt(TENANT, one, 1)
    assert await settled(session, (one, 1, 60), (other, 1, 200))
    assert (await session.balance(), await session.money()) == ({"spent": 360}, {"spent": 100})


@pytest.mark.parametrize(
    ("key", "attempt", "tokens"),
    [
        pytest.param("open", 1, 101, id="more was used than held"),
        pytest.param("open", 2, 50, id="the attempt never started"),
        pytest.param("started", 2, 50, id="an attempt is silent"),
        pytest.param("released", 1, 50, id="a hold has ended"),
        pytest.param("known", 1, 100, id="the report is known"),
        pytest.param("none", 1, 50, id="nothing was held"),
    ],
)
async def test_a_batch_of_settlements_that_is_not_plain_writes_nothing(
    session: Books, key: str, attempt: int, tokens: int
) -> None:
    plain = await session.hold("plain", 100)
    for name in ("open", "started", "released"):
        await session.hold(name, 100)
    await session.ask("none", 10_000)
    ids = {row["key"]: str(row["hold_id"]) for row in await session.pool.fetch("select key, hold_id from holds")}
    await session.ledger.start_attempt(TENANT, ids["started"], 1)
    await session.ledger.release(TENANT, key="released")
    before = await session.rows(), await session.balance()
    assert not await settled(session, (plain, 1, 50), (ids[key], attempt, tokens))
    assert not await settled(session, (plain, 1, 50), ("999999", 1, 1))
    assert (await session.rows(), await session.balance()) == before


async def test_in_one_batch_each_settlement_gets_its_own_answer_or_its_own_error(session: Books) -> None:
    holds = [await session.hold(f"k{number}", 100) for number in range(3)]
    await session.settle(holds[0], 70)
    calls = [
        session.settle(holds[1], 50),
        session.settle(holds[0], 70),
        session.settle(holds[0], 71),
        session.settle(holds[2], 130),
        session.settle("999999", 1),
    ]
    results: list[Any] = [*await asyncio.gather(*calls, return_exceptions=True)]
    within, again, other, overrun, unknown = results
    assert (within.charged.tokens, again.charged.tokens, overrun.overrun.tokens) == (50, 70, 30)
    assert isinstance(other, AttemptConflict)
    assert isinstance(unknown, NotFound)
    assert await session.balance() == {"spent": 350, "overrun": 30}


async def test_a_report_sent_twice_at_once_is_charged_once(session: Books) -> None:
    holds = [await session.hold(f"k{number}", 100) for number in range(4)]
    settled_twice = await asyncio.gather(*(session.settle(hold_id, 60) for hold_id in holds * 3))
    assert {one.charged.tokens for one in settled_twice} == {60}
    assert await session.balance() == {"spent": 340}
