"""Batches of asks and settlements: what is plain is written together, and the rest one by one."""

import asyncio
import random
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pytest

from purser.budget.errors import AttemptConflict, HoldClosed, KeyReused, NotFound
from purser.budget.gate import Amount, Verdict
from purser.budget.holds import HoldRequest
from purser.budget.policies.fields import Mode
from purser.budget.policies.policy import PolicyPatch
from purser.budget.policies.sets import PolicyAction, PolicyChange
from purser.budget.postgres.ledger.batches import Ask, Settle, hold_together, settle_together
from purser.budget.postgres.ledger.policy_sets import PolicySets
from purser.budget.scopes import Scope
from purser.budget.windows import Window
from tests.support.actors import TESTER
from tests.support.ledger import TENANT, Books, meet, report, request

THRESHOLDS = [Decimal(share) / 100 for share in range(15, 96, 10)]
REACHED = """
    with figures as (
        select e.entry_id, greatest(e.spent_tokens + e.held_tokens, e.spent_nano + e.held_nano) as used
        from entries e join scopes s using (tenant, scope_id) where s.kind || ':' || s.id = $1
    )
    select array(select t from unnest($2::numeric[]) t where t * 1000 <= (select max(used) from figures) order by t),
           array(select t from unnest($2::numeric[]) t
                 where t * 1000 <= (select used from figures order by entry_id desc limit 1) order by t),
           array(select threshold from events where kind = 'threshold' and scope = $1 order by threshold)
"""
"""Thresholds that any entry of a scope shows as reached, those that the last one shows, and those that fired."""


async def held(books: Books, *requests: HoldRequest) -> list[str]:
    """The keys that a batch holds."""
    answers = await hold_together(books.pool, books.settings, books.ledger.now, [Ask(TENANT, one) for one in requests])
    assert all(answer is None or (answer.hold_id is None) is not answer.gate.verdict.admits for answer in answers)
    return [one.key for one, answer in zip(requests, answers, strict=True) if answer and answer.hold_id]


async def settled(books: Books, *reports: tuple[str, int, int]) -> list[int | None]:
    """What each hold, attempt and tokens of a batch overran by; None for one that the batch left alone."""
    settles = [Settle(TENANT, int(hold_id), attempt, report(tokens)) for hold_id, attempt, tokens in reports]
    done = await settle_together(books.pool, books.settings, books.ledger.now, settles)
    return [None if one is None else one.overrun.tokens for one in done]


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
    keys = await held(session, request("a", 100, 1), request("b", 200, 2, "session:s1"), request("c", 600, 3))
    assert keys == ["a", "b", "c"]
    assert (await session.balance(), await session.money()) == ({"spent": 100, "held": 900}, {"spent": 100, "held": 6})


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(request("b", 892), id="its tokens do not fit with the others"),
        pytest.param(request("b", 1, 892), id="its money does not fit with the others"),
        pytest.param(request("known", 100, 100), id="its key is known"),
        pytest.param(request("known", 1), id="its key is bound to another payload"),
        pytest.param(request("b", 892, 0, "session:s1", "task:new"), id="it does not fit, and its task is new"),
        pytest.param(request("known", 1, 0, "session:new"), id="its key is bound to another payload with a new scope"),
        pytest.param(request("b", 1, 0, "session:frozen"), id="its scope is frozen"),
        pytest.param(request("b", 1, 0, "session:empty"), id="its scope has no capacity"),
        pytest.param(request("b", 1, priced=False), id="it needs a price"),
    ],
)
async def test_a_batch_leaves_alone_what_is_not_plain_and_holds_the_rest(session: Books, other: HoldRequest) -> None:
    await session.hold("open", 10)
    await session.hold("x", 1, 0, "session:frozen")
    await session.budget("session:frozen", frozen=True)
    await session.hold("y", 1, 0, "session:empty")
    await session.budget("session:empty", limit_tokens=0, mode="hard")
    await session.ledger.release(TENANT, key="open")
    rows = await session.rows()
    assert await held(session, request("a", 9, 9), other, request("c", 1, 1, "session:s1")) in (["a", "c"], ["a"])
    after = await session.rows()
    assert await session.pool.fetchval("select count(*) from holds where key = 'b'") == 0
    made = after["holds"] - rows["holds"]
    named = int("task:new" in other.path.texts())  # as the gate does before it refuses
    new = {"scopes": named, "balances": named, "holds": made, "entries": made}
    assert rows | {name: rows[name] + more for name, more in new.items()} == after
    assert await held(session, other) == []


async def test_a_batch_creates_the_scopes_of_its_asks(session: Books) -> None:
    template = PolicyPatch(limit_tokens=50, mode=Mode.HARD)
    await PolicySets(session.pool, session.policies).apply(TENANT, {"agent:*/writer": template}, by=TESTER)
    asks = [
        request("a", 10, 0, "session:s1", "task:t1", "agent:t1/a"),
        request("b", 20, 0, "session:s1", "task:t1", "agent:t1/b"),
        request("c", 30, 0, "session:s2", "task:t2", "agent:t2/writer"),
        request("d", 51, 0, "session:s2", "task:t3", "agent:t3/writer"),
    ]
    assert await held(session, *asks) == ["a", "b", "c"]
    balances = {scope: await session.balance(scope) for scope in ("task:t1", "agent:t1/b", "session:s2")}
    assert balances == {"task:t1": {"held": 30}, "agent:t1/b": {"held": 20}, "session:s2": {"held": 30}}
    assert await session.balance("agent:t3/writer") == {}
    await session.check()


async def test_tasks_with_limits_of_their_own_keep_them_in_one_batch(session: Books) -> None:
    for task, limit in (("t1", 800), ("t2", 700)):
        await session.budget("session:s1", task=task, limit_tokens=limit)
    asks = [request(key, 10, 0, "session:s1", f"task:{task}") for key, task in (("a", "t1"), ("b", "t2"), ("c", "t2"))]
    assert await held(session, *asks) == ["a", "b", "c"]
    limits = await session.pool.fetch(
        "select e.limit_tokens from entries e join scopes s using (tenant, scope_id)"
        " join holds h using (tenant, hold_id) where s.id = 's1' and h.key in ('a', 'b', 'c') order by e.seq"
    )
    assert [row["limit_tokens"] for row in limits] == [800, 700, 700]
    last = "select limit_tokens from balances join scopes using (tenant, scope_id) where id = 's1'"
    assert await session.pool.fetchval(last) == 700
    await session.check()


async def test_nothing_of_an_ask_that_needs_a_price_is_written_not_even_its_scopes(session: Books) -> None:
    asks = [request("a", 1, 1), request("b", 1, 0, "session:s1", "task:new", priced=False)]
    rows = await session.rows()
    assert await held(session, *asks) == []
    assert await session.rows() == rows
    assert (await session.ask("b", 1, 0, "session:s1", "task:new", priced=False)).hold_id is None
    assert await session.rows() == rows


async def test_who_comes_first_in_a_batch_is_not_passed_by_who_comes_later(session: Books) -> None:
    await session.hold("other", 1, 0, "task:t1")
    await session.budget("task:t1", limit_tokens=100, mode="hard")
    part = request("part", 850, 0, "session:s1", "task:t1", least=Amount(50))
    assert await held(session, part, request("later", 60)) == []
    assert await held(session, request("later", 50)) == ["later"]


async def test_an_ask_that_cannot_be_held_takes_no_room_from_those_behind_it(session: Books) -> None:
    await session.hold("other", 1, 0, "task:t1")
    await session.budget("task:t1", limit_tokens=100, mode="hard")
    large = request("large", 850, 0, "session:s1", "task:t1")
    assert await held(session, large, request("later", 900)) == ["later"]


async def test_a_batch_that_a_balance_cannot_count_holds_and_answers_nothing(session: Books) -> None:
    await session.hold("open", 1, 0, "session:vast")
    await session.pool.execute("update balances set held_tokens = 9223372036854775800 where held_tokens = 1")
    assert await held(session, request("a", 6, 0, "session:vast"), request("b", 6, 0, "session:vast")) == []
    assert await session.pool.fetchval("select count(*) from holds where key in ('a', 'b')") == 0
    await session.pool.execute("update balances set held_tokens = 1 where held_tokens = 9223372036854775800")


async def test_a_batch_does_not_overtake_older_waiters(session: Books) -> None:
    await session.hold("busy", 800)
    for _ in range(2):
        assert (await session.ask("waiter", 900)).gate.verdict is Verdict.WAIT
    assert await held(session, request("a", 1), request("b", 1)) == []


async def test_a_batch_does_not_use_grants_that_have_ended(session: Books) -> None:
    await session.grant("session:s1", 1_000, 0, await session.pool.fetchval("select now()"))
    assert await held(session, request("a", 500), request("b", 401)) == []


async def test_a_batch_sees_a_policy_that_changed_while_it_waited(session: Books) -> None:
    async def freeze(connection: Any) -> None:
        patch = PolicyPatch(frozen=True)
        await session.policies.set(TENANT, Scope.parse("session:s1"), patch, by=TESTER, connection=connection)

    assert await meet(session.pool, freeze, lambda: held(session, request("a", 1), request("b", 1))) == []


async def test_a_batch_sees_a_window_that_changed_while_it_waited(session: Books) -> None:
    """Else it would hold in the old window what the limit counts in the new one."""

    async def change(connection: Any) -> None:
        patch = PolicyPatch(window=Window.DAY)
        await session.policies.set(TENANT, Scope.parse("session:s1"), patch, by=TESTER, connection=connection)

    assert await meet(session.pool, change, lambda: held(session, request("a", 1), request("b", 1))) == []


async def test_a_batch_sees_a_template_that_changed_while_it_waited(session: Books) -> None:
    sets, before = PolicySets(session.pool, session.policies), PolicyPatch(warn_at=(Decimal("0.9"),))
    await sets.apply(TENANT, {"session:*": before}, by=TESTER)

    async def freeze(connection: Any) -> None:
        change = PolicyChange("session:*", PolicyAction.CHANGE, before, PolicyPatch(frozen=True))
        await sets._set_template(connection, TENANT, change, TESTER)

    assert await meet(session.pool, freeze, lambda: held(session, request("a", 1), request("b", 1))) == []


async def test_a_batch_sees_what_a_task_requests_while_it_waited(session: Books) -> None:
    path = ("session:s1", "task:t1")
    await session.spend("task", 1, 0, *path)

    async def tighten(connection: Any) -> None:
        patch = PolicyPatch(limit_tokens=1)
        await session.policies.set(TENANT, Scope.parse(path[0]), patch, by=TESTER, task_id="t1", connection=connection)

    asks = [request("a", 10, 0, *path), request("b", 10, 0, *path)]
    assert await meet(session.pool, tighten, lambda: held(session, *asks)) == []


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
    assert await settled(session, (one, 1, 60), (other, 1, 200)) == [0, 0]
    assert (await session.balance(), await session.money()) == ({"spent": 360}, {"spent": 100})


async def test_overruns_of_a_batch_are_charged_in_full_and_warn(session: Books) -> None:
    one, other, third = [await session.hold(key, 100, 10) for key in "abc"]
    await session.budget("session:s1", warn_at=[0.5])
    assert await settled(session, (one, 1, 150), (other, 1, 60), (third, 1, 400)) == [50, 0, 300]
    assert await session.balance() == {"spent": 710, "overrun": 350}
    assert await session.entries() == [
        "hold", "settle", "hold", "hold", "hold", "settle", "settle", "overrun", "settle", "overrun"
    ]  # fmt: skip
    fired = "select count(*) from events where kind = 'threshold' and threshold = 0.5"
    assert await session.pool.fetchval(fired) == 1
    again = await session.settle(third, 400)
    assert (again.overrun.tokens, again.charged.tokens) == (300, 400)


async def test_a_batch_warns_of_each_threshold_that_its_entries_show_as_reached(books: Books) -> None:
    """Also of one that is reached by what one settlement overruns, and left by what another one frees."""
    dice, fired_between = random.Random(7), 0
    for number in range(30):
        path = f"session:n{number}"
        await books.budget(path, limit_tokens=1_000, limit_nano_usd=1_000, mode="soft", warn_at=THRESHOLDS)
        holds = [await books.hold(f"{number}/{key}", 100, 100, path) for key in range(4)]
        reports = [report(dice.choice([0, 90, 150, 400]), dice.choice([0, 90, 150, 400])) for _ in holds]
        settles = [Settle(TENANT, int(one), 1, used) for one, used in zip(holds, reports, strict=True)]
        assert any(await settle_together(books.pool, books.settings, None, settles))
        [(reached, last, fired)] = await books.pool.fetch(REACHED, path, THRESHOLDS)
        assert fired == reached, (number, reports)
        fired_between += reached != last
    assert fired_between > 0
    await books.check()


@pytest.mark.parametrize(
    ("key", "attempt", "tokens"),
    [
        pytest.param("open", 2, 50, id="the attempt never started"),
        pytest.param("started", 2, 50, id="an attempt is silent"),
        pytest.param("released", 1, 50, id="a hold has ended"),
        pytest.param("known", 1, 100, id="the report is known"),
        pytest.param("none", 1, 50, id="nothing was held"),
    ],
)
async def test_a_batch_of_settlements_leaves_alone_what_is_not_plain(
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
    assert await settled(session, (ids[key], attempt, tokens), ("999999", 1, 1)) == [None, None]
    assert (await session.rows(), await session.balance()) == before
    assert await settled(session, (ids[key], attempt, tokens), (plain, 1, 50), ("999999", 1, 1)) == [None, 0, None]


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


async def test_who_comes_first_is_not_passed_by_a_task_with_a_higher_limit(books: Books) -> None:
    await books.budget("session:s1", limit_tokens=2_000, mode="hard")
    await books.budget("session:s1", task="t2", limit_tokens=600)
    first = request("first", 700, 0, "session:s1", "task:t2", least=Amount(500))
    second = request("second", 1_000, 0, "session:s1", "task:t1")
    assert await held(books, first, second) == []
    assert (await books.ledger.hold(TENANT, first)).amount.tokens == 600
    assert (await books.ledger.hold(TENANT, second)).amount.tokens == 1_000
