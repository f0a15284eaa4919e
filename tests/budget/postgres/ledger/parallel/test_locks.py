"""Locks: rows are locked before they are acted upon, and always in the same order."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

from purser.budget.gate import Verdict
from purser.budget.holds import HoldState, Released
from purser.budget.policies.policy import PolicyPatch
from purser.budget.postgres.changes import Changes
from purser.budget.postgres.ledger.batches import Ask, Settle, hold_together, settle_together
from purser.budget.postgres.ledger.policy_sets import PolicySets
from purser.budget.scopes import Scope
from tests.support.actors import TESTER
from tests.support.ledger import TENANT, Books, meet, report, request, waiting_for_locks

DEADLOCKS = "select deadlocks from pg_stat_database where datname = current_database()"
NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)


async def lock(connection: Any, session: str) -> None:
    """Locks the balance of a session."""
    await connection.execute(
        "select 1 from balances b join scopes s using (tenant, scope_id) where s.id = $1 for update of b", session
    )


async def without_waiting(connection: Any) -> None:
    """From here on a lock that another transaction has is an error."""
    await connection.execute("set local lock_timeout = '50ms'")


async def take(connection: Any, key: str) -> None:
    """Takes a key, without waiting."""
    await without_waiting(connection)
    await connection.execute(
        "insert into holds (tenant, key, state, created_at) values ($1, $2, 'none', now())", TENANT, key
    )


# --- one order -------------------------------------------------------------------------------------------------------


async def test_a_sweep_locks_the_balances_of_all_holds_in_the_one_order(books: Books) -> None:
    """The hold that expires first is on the scope that is locked last."""
    await books.spend("a", 1, 0, "session:a")
    await books.spend("b", 1, 0, "session:b")
    await books.hold("on-b", 10, 0, "session:b", lease_ms=1)
    await books.hold("on-a", 10, 0, "session:a", lease_ms=2)
    books.at(datetime.now(UTC) + timedelta(hours=1))

    async def first(connection: Any) -> None:
        await without_waiting(connection)
        await lock(connection, "a")

    await meet(books.pool, first, books.ledger.sweep, lambda connection: lock(connection, "b"))
    assert (await books.balance("session:a"), await books.balance("session:b")) == ({"spent": 1}, {"spent": 1})


async def test_a_batch_takes_its_keys_in_the_one_order(books: Books) -> None:
    await books.spend("before", 1)
    asks = [Ask(TENANT, request("b", 10)), Ask(TENANT, request("a", 10))]

    await meet(
        books.pool,
        lambda connection: take(connection, "a"),
        lambda: hold_together(books.pool, books.settings, None, asks),
        lambda connection: take(connection, "b"),
    )
    assert await books.balance() == {"spent": 1}, "both keys were taken: nothing is held together"


async def test_a_batch_creates_its_scopes_in_the_one_order(books: Books) -> None:
    tasks = ("task:t1", "task:t2", "task:t3")
    asks = [request(f"k{task}", 1, 0, "session:s1", task) for task in reversed(tasks)]

    async def create(connection: Any, task: str) -> None:
        await without_waiting(connection)
        await connection.execute("insert into scopes (tenant, kind, id) values ($1, 'task', $2)", TENANT, task[5:])

    answers = await meet(
        books.pool,
        lambda connection: create(connection, tasks[0]),
        lambda: hold_together(books.pool, books.settings, None, [Ask(TENANT, ask) for ask in asks]),
        lambda connection: create(connection, tasks[2]),
    )
    assert None not in answers
    assert [await books.balance(task) for task in tasks] == [{"held": 1}] * 3
    await books.check()


async def test_the_gate_creates_its_scopes_before_it_takes_its_key(books: Books) -> None:
    """As a batch does: else two that ask with one key, under new scopes, could wait for each other."""

    async def create(connection: Any) -> None:
        await without_waiting(connection)
        await connection.execute("insert into scopes (tenant, kind, id) values ($1, 'task', 't1')", TENANT)

    ask = await meet(
        books.pool,
        create,
        lambda: books.ask("k", 1, 0, "session:s1", "task:t1"),
        lambda connection: take(connection, "k"),
    )
    assert ask.hold_id


async def test_a_batch_and_the_gate_that_want_one_key_and_one_new_scope_do_not_wait_for_each_other(
    books: Books,
) -> None:
    """Whoever is stopped before its key has the scope, and then gets the key."""
    path = ("session:s1", "task:t1")
    asks = [Ask(TENANT, request(key, 1, 0, *path)) for key in ("j", "k")]

    async def both() -> Any:
        """The batch waits for the key `j`, then the gate for the scope that the batch has created."""
        batch = asyncio.ensure_future(hold_together(books.pool, books.settings, None, asks))
        async with books.pool.acquire() as connection:
            while await waiting_for_locks(connection) < 1:
                await asyncio.sleep(0.005)
        return await asyncio.gather(batch, Books.on(books.pool).ask("k", 1, 0, *path))

    before = await books.pool.fetchval(DEADLOCKS)
    batch, alone = await meet(books.pool, lambda connection: take(connection, "j"), both, two_wait)
    assert [answer and answer.hold_id for answer in batch].count(None) >= 1
    assert alone.hold_id
    assert await books.balance() == {"held": 1}
    assert await books.pool.fetchval(DEADLOCKS) == before


# --- read under the lock ---------------------------------------------------------------------------------------------


async def asked_before(books: Books) -> None:
    """The key `k` had to wait once; now it would fit twice."""
    await books.budget("session:s1", limit_tokens=10, mode="hard")
    assert not (await books.ask("k", 100)).hold_id
    await books.budget("session:s1", limit_tokens=1_000)


async def two_wait(connection: Any) -> None:
    """Returns once two transactions wait for locks."""
    async with asyncio.timeout(60):
        while await waiting_for_locks(connection) < 2:
            await asyncio.sleep(0.005)
            # A transaction goes on seeing the activity that it has seen once.
            await connection.execute("select pg_stat_clear_snapshot()")


async def test_two_processes_that_ask_with_one_key_hold_once(books: Books) -> None:
    await asked_before(books)
    asks = [Books.on(books.pool).ask, Books.on(books.pool).ask]
    answers = await meet(
        books.pool,
        lambda connection: lock(connection, "s1"),
        lambda: asyncio.gather(*(ask("k", 100) for ask in asks)),
        two_wait,
    )
    assert sorted(answer.repeated for answer in answers) == [False, True]
    assert await books.balance() == {"held": 100}


async def test_a_release_meets_an_ask_that_is_about_to_hold(books: Books) -> None:
    await asked_before(books)

    async def release() -> Released:
        async with books.pool.acquire() as connection:
            while await waiting_for_locks(connection) < 1:  # until the ask has read its key
                await asyncio.sleep(0.005)
        return await books.ledger.release(TENANT, key="k")

    _, released = await meet(
        books.pool,
        lambda connection: lock(connection, "s1"),
        lambda: asyncio.gather(Books.on(books.pool).ask("k", 100), release()),
        two_wait,
    )
    assert released.state is HoldState.RELEASED
    assert await books.balance() == {}


async def test_two_changes_of_a_policy_at_once_are_judged_one_after_the_other(books: Books) -> None:
    await books.budget("session:s1", limit_tokens=1_000, mode="hard")
    await books.spend("k", 1)

    async def raise_it(connection: Any) -> None:
        await connection.execute(
            "select from ledger_set_policy($1, 'session:s1', '', $2, '{}', '{}', 'test', $3, null)",
            TENANT,
            {"limit_tokens": 2_000},
            books.settings.defaults_json,
        )

    await meet(books.pool, raise_it, lambda: books.budget("session:s1", limit_tokens=1_500))
    assert (await books.entries())[-2:] == ["limit_raised", "limit_lowered"]
    [later, *_], _ = await Changes(books.pool).list(TENANT)
    assert (later.before, later.after) == (
        {"limit_tokens": 2_000, "mode": "hard"},
        {"limit_tokens": 1_500, "mode": "hard"},
    )


async def test_a_freeze_waits_for_a_hold_that_is_about_to_commit(books: Books) -> None:
    await books.budget("session:s1", limit_tokens=1_000, mode="hard")
    await books.spend("before", 1)

    async def hold(connection: Any) -> None:
        assert (await books.ledger.hold(TENANT, request("k", 1), connection)).hold_id is not None

    async def not_frozen_yet(_: Any) -> None:
        assert not await books.pool.fetchval("select bool_or(frozen) from policies")

    await meet(books.pool, hold, lambda: books.budget("session:s1", frozen=True), not_frozen_yet)
    assert await books.pool.fetchval("select bool_or(frozen) from policies")


async def test_a_batch_of_settlements_waits_for_a_hold_that_is_being_settled(books: Books) -> None:
    hold_id = await books.hold("k", 100)

    async def first(connection: Any) -> None:
        await books.ledger.settle(TENANT, hold_id, 1, report(70), connection=connection)

    batch = [Settle(TENANT, int(hold_id), 1, report(70))]
    assert await meet(books.pool, first, lambda: settle_together(books.pool, books.settings, None, batch)) == [None]
    assert await books.balance() == {"spent": 70}


async def test_a_batch_settles_nothing_of_another_tenant(books: Books) -> None:
    hold_id = await books.hold("k", 100)
    batch = [Settle("other", int(hold_id), 1, report(70))]
    assert await settle_together(books.pool, books.settings, None, batch) == [None]
    assert await books.balance() == {"held": 100}


# --- what the gate counts --------------------------------------------------------------------------------------------


async def test_a_further_attempt_tops_up_money_that_the_last_one_cost(books: Books) -> None:
    hold_id = await books.hold("k", 100, 1_000)
    await books.ledger.start_attempt(TENANT, hold_id, 1)
    await books.settle(hold_id, 0, 400, keep_open=True)
    assert await books.money() == {"spent": 400, "held": 600}
    await books.ledger.start_attempt(TENANT, hold_id, 2)
    assert await books.money() == {"spent": 400, "held": 1_000}


async def test_of_two_that_began_to_wait_at_one_instant_one_goes(books: Books) -> None:
    books.at(NOON)
    await books.budget("session:s1", limit_tokens=100, mode="hard")
    await books.hold("open", 100)
    for _ in range(2):
        for key in ("one", "other"):
            assert (await books.ask(key, 60)).gate.verdict is Verdict.WAIT
    await books.ledger.release(TENANT, key="open")
    assert [(await books.ask(key, 60)).gate.verdict.admits for key in ("one", "other")] == [True, False]


async def test_agents_that_end_together_lock_in_one_order(books: Books) -> None:
    agents = [f"agent:t1/a{number}" for number in range(6)]
    for name in agents:
        await books.spend(name, 1, 0, "task:t1", name)
    before = await books.pool.fetchval(DEADLOCKS)
    ends = (books.ledger.end_scopes(TENANT, map(Scope.parse, ["task:t1", *agents])) for _ in range(400))
    await asyncio.gather(*ends)
    assert await books.pool.fetchval(DEADLOCKS) == before


async def test_a_document_of_policies_locks_in_the_order_of_calls(books: Books) -> None:
    await books.spend("older", 1, 0, "tenant:acme")
    await books.spend("newer", 1, 0, "tenant:acme", "session:s9")
    wanted = {name: PolicyPatch.parse({"limit_tokens": 1_000}) for name in ("session:s9", "tenant:acme")}

    async def go_on(call: Any) -> None:
        await without_waiting(call)
        await lock(call, "s9")

    changes = await meet(
        books.pool,
        lambda call: lock(call, "acme"),
        lambda: PolicySets(books.pool, books.policies).apply(TENANT, wanted, by=TESTER),
        go_on,
    )
    assert len(changes) == 2


async def test_a_document_of_policies_locks_a_scope_before_its_balance_as_an_approval_does(books: Books) -> None:
    await books.spend("k", 1)
    wanted = {"session:s1": PolicyPatch.parse({"limit_tokens": 1_000})}

    async def decide(approval: Any) -> None:
        await without_waiting(approval)
        await approval.execute("select from scopes where tenant = $1 and id = 's1' for no key update", TENANT)

    changes = await meet(
        books.pool,
        decide,
        lambda: PolicySets(books.pool, books.policies).apply(TENANT, wanted, by=TESTER),
        lambda approval: lock(approval, "s1"),  # for its grant
    )
    assert len(changes) == 1
