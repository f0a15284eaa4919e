"""The gate under contention, step by step: which statements wait for an open transaction."""

from typing import Any

from purser.budget.gate import Verdict
from purser.budget.holds import HoldState
from purser.budget.policies.policy import PolicyPatch
from purser.budget.scopes import Scope
from purser.budget.windows import Window
from tests.support.actors import TESTER
from tests.support.ledger import TENANT, Books, meet, report, request


async def test_two_asks_for_the_last_tokens_do_not_both_get_them(books: Books) -> None:
    await books.budget("session:s1", limit_tokens=1_000, mode="hard")
    await books.spend("before", 100)

    async def first(connection: Any) -> None:
        assert (await books.ledger.hold(TENANT, request("one", 600), connection)).hold_id

    other = await meet(books.pool, first, lambda: books.ask("other", 600))
    assert other.gate.verdict is Verdict.WAIT
    assert await books.balance() == {"spent": 100, "held": 600}


async def test_one_key_that_two_ask_at_once_holds_once(books: Books) -> None:
    await books.budget("session:s1", limit_tokens=10, mode="hard")
    assert not (await books.ask("k", 100)).hold_id
    await books.budget("session:s1", limit_tokens=1_000)

    async def first(connection: Any) -> None:
        assert (await books.ledger.hold(TENANT, request("k", 100), connection)).hold_id

    assert (await meet(books.pool, first, lambda: books.ask("k", 100))).repeated
    assert await books.balance() == {"held": 100}


async def test_a_report_that_arrives_twice_at_once_is_charged_once(books: Books) -> None:
    hold_id = await books.hold("k", 100)

    async def first(connection: Any) -> None:
        await books.ledger.settle(TENANT, hold_id, 1, report(70), connection=connection)

    async def again() -> Any:
        return await books.settle(hold_id, 70, keep_open=True)

    assert (await meet(books.pool, first, again)).state is HoldState.SETTLED
    assert await books.balance() == {"spent": 70}


async def test_a_hold_that_is_settled_and_released_at_once_ends_once(books: Books) -> None:
    hold_id = await books.hold("k", 100)

    async def first(connection: Any) -> None:
        await books.ledger.settle(TENANT, hold_id, 1, report(70), connection=connection)

    assert (await meet(books.pool, first, lambda: books.ledger.release(TENANT, key="k"))).state is HoldState.SETTLED
    assert await books.balance() == {"spent": 70}


async def test_one_attempt_that_two_start_at_once_is_one(books: Books) -> None:
    hold_id = await books.hold("k", 100)

    async def first(connection: Any) -> None:
        await books.ledger.start_attempt(TENANT, hold_id, 1, connection)

    assert (await meet(books.pool, first, lambda: books.ledger.start_attempt(TENANT, hold_id, 1))).attempt == 1
    assert await books.balance() == {"held": 100}


async def test_a_straggling_ask_meets_the_release_of_its_key(books: Books) -> None:
    """Whichever comes first, nothing stays held."""

    async def first(connection: Any) -> None:
        await books.ledger.hold(TENANT, request("k", 100), connection)

    assert (await meet(books.pool, first, lambda: books.ledger.release(TENANT, key="k"))).state is HoldState.RELEASED
    assert await books.balance() == {}


async def test_a_sweep_skips_a_hold_that_is_locked(books: Books) -> None:
    hold_id = await books.hold("busy", 100, lease_ms=1)
    await books.hold("idle", 100, lease_ms=1)
    sweeper = Books.on(books.pool, grace_s=0)

    async def renew(connection: Any) -> None:
        await books.ledger.extend(TENANT, hold_id, lease_ms=60_000, connection=connection)

    assert await meet(books.pool, renew, sweeper.ledger.sweep) == 1
    assert await books.balance() == {"held": 100}


async def test_an_ask_sees_a_window_that_changed_while_it_waited(books: Books) -> None:
    await books.budget("session:s1", limit_tokens=100, mode="hard")
    await books.spend("before", 100)

    async def change(connection: Any) -> None:
        patch = PolicyPatch(window=Window.DAY)
        await books.policies.set(TENANT, Scope.parse("session:s1"), patch, by=TESTER, connection=connection)

    assert (await meet(books.pool, change, lambda: books.ask("next", 100))).hold_id


async def test_an_ask_sees_a_limit_that_was_lowered_while_it_waited(books: Books) -> None:
    await books.budget("session:s1", limit_tokens=1_000, mode="hard")
    await books.spend("before", 100)

    async def lower(connection: Any) -> None:
        patch = PolicyPatch(limit_tokens=150)
        await books.policies.set(TENANT, Scope.parse("session:s1"), patch, by=TESTER, connection=connection)

    assert not (await meet(books.pool, lower, lambda: books.ask("next", 100))).hold_id
