"""Attempts, releases and extensions in batches: each answers and posts exactly what it would alone."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

from purser.budget.errors import AttemptConflict, BudgetError, HoldClosed, NotFound
from purser.budget.gate import Amount
from purser.budget.policies.policy import PolicyPatch
from purser.budget.postgres.ledger.steps import AttemptStart, Extend, Release, Step, Steps
from purser.budget.scopes import Scope
from tests.budget.postgres.ledger.parallel.test_together import NOW, POLICIES, SESSIONS, same
from tests.support.actors import TESTER
from tests.support.ledger import TENANT, Books, meet, report, request
from tests.support.runs.proof import sized

Make = Callable[[random.Random, str, int, int], tuple[Step, Step]]
PATHS = [("user:u1", session, f"task:t{number}") for session in SESSIONS for number in range(2)]


async def test_a_random_batch_of_steps_is_what_its_steps_are_one_by_one(books: Books, seed: int) -> None:
    dice, now, holds = random.Random(seed), NOW, list[tuple[str, int, int]]()
    for tenant in ("batch", "alone"):
        for scope, fields in POLICIES.items():
            await books.policies.set(tenant, Scope.parse(scope), PolicyPatch.parse(fields), by=TESTER)
    ledger, outcomes = books.ledger, set[tuple[str, str]]()
    kinds: list[tuple[Steps[Any, Any], Make]] = [
        (ledger._attempts, attempt), (ledger._extensions, extension), (ledger._releases, release)
    ]  # fmt: skip
    for turn in range(sized(12, 30)):
        now += timedelta(minutes=dice.choice([0, 0, 1, 30]))
        books.at(now)
        holds += await held(books, turn, dice)
        recent = holds[-12:]
        for key, one, other in dice.sample(recent, min(2, len(recent))):
            del key
            given, keep = report(dice.choice([0, 50, 450])), dice.random() < 0.7
            done = [
                await attempted(books.ledger.settle(tenant, str(hold), 1, given, keep_open=keep))
                for tenant, hold in (("batch", one), ("alone", other))
            ]
            assert shown(done[0]) == shown(done[1])
        for steps, make in kinds:
            # One that exists, ended or not, and one that does not.
            chosen = [*dice.sample(recent, dice.randrange(1, min(7, len(recent)) + 1)), ("none", 10**9, 10**9)]
            made = [make(dice, *hold) for hold in chosen]
            found: Sequence[Any] = await steps.together([step for step, _ in made])
            for answer, (_, step) in zip(found, made, strict=True):
                other_answer = await attempted(steps.alone(step))
                assert shown(answer) == shown(other_answer), step
                outcomes.add((type(step).__name__, shown(answer)[0]))
            await same(books)
    assert len(outcomes) >= 8, outcomes
    await books.check()


async def held(books: Books, turn: int, dice: random.Random) -> list[tuple[str, int, int]]:
    """Holds of both tenants, as key and ids."""
    made = []
    for number in range(4):
        key, path, tokens = f"{turn}/{number}", dice.choice(PATHS), dice.choice([1, 100, 300])
        answers = [
            await books.ledger.hold(tenant, request(key, tokens, tokens, *path)) for tenant in ("batch", "alone")
        ]
        ids = [answer.hold_id for answer in answers]
        if ids[0] is not None and ids[1] is not None:
            made.append((key, int(ids[0]), int(ids[1])))
    return made


def attempt(dice: random.Random, key: str, one: int, other: int) -> tuple[AttemptStart, AttemptStart]:
    number = dice.choice([None, None, 1, 2, 3])
    most = dice.choice([None, Amount(dice.choice([50, 500]))])
    return AttemptStart("batch", one, None, number, most), AttemptStart("alone", other, None, number, most)


def extension(dice: random.Random, key: str, one: int, other: int) -> tuple[Extend, Extend]:
    more, lease = Amount(dice.choice([0, 0, 10, 2_000])), dice.choice([None, timedelta(hours=1)])
    priced = dice.random() < 0.8
    return Extend("batch", one, None, more, lease, priced), Extend("alone", other, None, more, lease, priced)


def release(dice: random.Random, key: str, one: int, other: int) -> tuple[Release, Release]:
    if dice.random() < 0.5:
        return Release("batch", one), Release("alone", other)
    unused = f"unused/{key}" if dice.random() < 0.3 else key
    return Release("batch", None, unused), Release("alone", None, unused)


async def attempted(call: Awaitable[Any]) -> Any:
    """The answer to a call, or its error."""
    try:
        return await call
    except BudgetError as error:
        return error


def shown(answer: Any) -> tuple[str, Any]:
    """All that an answer says, apart from the number of its hold."""
    if isinstance(answer, BudgetError):
        return type(answer).__name__, None
    named = hasattr(answer, "hold_id")
    return f"{type(answer).__name__}{getattr(answer, 'started', '')}", replace(answer, hold_id="") if named else answer


# --- each by itself --------------------------------------------------------------------------------------------------


async def sent(calls: Iterable[Awaitable[Any]]) -> list[Any]:
    """Results or errors of calls that arrive at once: the first one travels alone, the others together."""
    return await asyncio.gather(*calls, return_exceptions=True)


async def test_an_error_of_one_step_touches_no_other(books: Books) -> None:
    ids = [await books.hold(f"k{number}", 100) for number in range(4)]
    await books.ledger.release(TENANT, hold_id=ids[2])
    ledger = books.ledger
    attempts = await sent(ledger.start_attempt(TENANT, one, 1) for one in [*ids, "999999"])
    assert [type(done) for done in attempts[2:]] == [HoldClosed, type(attempts[0]), NotFound]
    again = await sent(ledger.start_attempt(TENANT, one, 3) for one in ids)
    assert [type(done) for done in again] == [AttemptConflict, AttemptConflict, HoldClosed, AttemptConflict]
    longer = await sent(ledger.extend(TENANT, one, Amount(5)) for one in [*ids, "999999"])
    assert [getattr(done, "amount", type(done)) for done in longer] == [
        Amount(105), Amount(105), HoldClosed, Amount(105), NotFound
    ]  # fmt: skip
    ended = await sent(ledger.release(TENANT, hold_id=one) for one in [*ids, "999999"])
    assert [getattr(done, "charged", type(done)) for done in ended] == [
        Amount(105), Amount(105), Amount(0), Amount(105), NotFound
    ]  # fmt: skip


# --- locks -----------------------------------------------------------------------------------------------------------


async def test_the_first_attempt_of_a_full_hold_waits_for_no_balance(books: Books) -> None:
    first, other = await books.hold("a", 100), await books.hold("b", 100)
    calls = [AttemptStart(TENANT, int(hold_id)) for hold_id in (first, other)]
    async with books.pool.acquire() as busy, busy.transaction():
        await busy.execute("select 1 from balances for update")
        assert all(await books.ledger._attempts.together(calls))


async def test_a_batch_of_steps_locks_holds_then_balances_in_the_one_order(books: Books) -> None:
    """The hold that was made first is on the scope that is locked last."""
    await books.spend("a", 1, 0, "session:a")
    late = await books.hold("on-b", 10, 0, "session:b")
    early = await books.hold("on-a", 10, 0, "session:a")
    steps: list[tuple[Steps[Any, Any], Sequence[Step]]] = [
        (books.ledger._extensions, [Extend(TENANT, int(one), None, Amount(1)) for one in (late, early)]),
        (books.ledger._releases, [Release(TENANT, int(one)) for one in (late, early)]),
    ]

    for kind, calls in steps:
        together = partial(kind.together, calls)
        answers = await meet(books.pool, lock_first, together, lambda own: lock(own, "b"))
        assert not any(isinstance(answer, Exception) for answer in answers)


async def lock(connection: Any, session: str) -> None:
    """Locks the balance of a session, without waiting."""
    await connection.execute("set local lock_timeout = '50ms'")
    await connection.execute(
        "select 1 from balances b join scopes s using (tenant, scope_id) where s.id = $1 for update of b", session
    )


async def lock_first(connection: Any) -> None:
    """Locks the balance of the session that was used first."""
    await lock(connection, "a")
