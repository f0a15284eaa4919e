"""Policies in shadow: they stop nothing, and what they would have done is counted once for each call."""

from typing import Any

import pytest

from purser.budget.gate import Amount, Verdict
from purser.budget.holds import HoldState
from purser.budget.policies.policy import PolicyPatch
from purser.budget.postgres.connections.pools import Pool
from purser.budget.postgres.ledger.batches import Ask, hold_together
from purser.budget.postgres.ledger.policy_sets import PolicySets
from purser.budget.scopes import Path, Scope
from tests.support.actors import TESTER
from tests.support.ledger import SESSION, TENANT, Books, request


async def would(books: Books, scope: str = SESSION[0]) -> dict[str, int]:
    """Counts of the current window, without zeros."""
    view = await books.policies.budget(TENANT, Scope.parse(scope))
    return {outcome: calls for outcome, calls in view.would.items() if calls}


async def shadow_events(pool: Pool) -> list[tuple[str, str]]:
    rows = await pool.fetch("select scope, data from events where kind = 'shadow' order by event_id")
    return [(row["scope"], row["data"]["outcome"]) for row in rows]


@pytest.mark.parametrize(
    ("policy", "outcome"),
    [
        ({"limit_tokens": 100, "mode": "hard"}, "refuse"),
        ({"limit_tokens": 100, "mode": "approval"}, "ask"),
        ({"limit_tokens": 140, "mode": "hard"}, "wait"),
        ({"limit_tokens": 161, "mode": "soft"}, "delay"),
        ({"frozen": True}, "refuse"),
        ({"limit_nano_usd": 0, "mode": "hard"}, "refuse"),
    ],
)
async def test_a_policy_in_shadow_admits_and_counts_each_call_once(
    pool: Pool, policy: dict[str, Any], outcome: str
) -> None:
    books = Books.on(pool)
    await books.spend("spent", 80)
    await books.hold("open", 30)
    await books.budget(SESSION[0], shadow=True, **policy)
    for _ in range(2):
        answer = await books.ask("k", 50, 1)
        assert (answer.gate.verdict, answer.gate.delay_ms, answer.amount) == (Verdict.ALLOW, 0, Amount(50, 1))
        assert answer.gate.held_up_by == (outcome, Scope.parse(SESSION[0]))
    assert answer.repeated
    assert await would(books) == {outcome: 1}
    assert await shadow_events(pool) == [(SESSION[0], outcome)]
    await books.check()


async def test_an_event_comes_once_for_each_window_and_outcome_and_no_threshold(pool: Pool) -> None:
    books = Books.on(pool)
    await books.budget(SESSION[0], limit_tokens=100, mode="hard", shadow=True)
    for number in range(4):
        await books.hold(f"k{number}", 60)
    assert await shadow_events(pool) == [(SESSION[0], "wait")]
    assert await would(books) == {"wait": 3}
    await books.budget(SESSION[0], limit_tokens=50)
    await books.hold("more", 60)
    assert await shadow_events(pool) == [(SESSION[0], "wait"), (SESSION[0], "refuse")]
    assert await pool.fetchval("select count(*) from events where kind = 'threshold'") == 0


async def test_a_batch_counts_what_each_of_its_calls_would_have_got(pool: Pool) -> None:
    books = Books.on(pool)
    await books.spend("spent", 80)
    await books.budget(SESSION[0], limit_tokens=120, mode="hard", backpressure=[], shadow=True)
    asks = [Ask(TENANT, request(f"k{number}", 20)) for number in range(4)]
    answers = await hold_together(pool, books.settings, None, asks)
    assert [answer and answer.gate.held_up_by and answer.gate.held_up_by[0] for answer in answers] == [
        None,
        None,
        "wait",
        "wait",
    ]
    assert await would(books) == {"wait": 2}


async def test_calls_that_another_scope_refuses_are_not_counted(pool: Pool) -> None:
    books = Books.on(pool)
    await books.budget("task:t1", limit_tokens=10, mode="hard", shadow=True)
    await books.budget(SESSION[0], limit_tokens=10, mode="hard")
    assert (await books.ask("k", 50, 0, SESSION[0], "task:t1")).gate.verdict is Verdict.REFUSE
    assert await would(books, "task:t1") == {}


async def test_a_policy_that_applies_again_stops_calls_from_the_next_hold_on(pool: Pool) -> None:
    books = Books.on(pool)
    await books.budget(SESSION[0], limit_tokens=100, mode="hard", shadow=True)
    await books.spend("k1", 150)
    await books.budget(SESSION[0], shadow=False)
    assert (await books.ask("k2", 1)).gate.verdict is Verdict.REFUSE
    assert await would(books) == {"refuse": 1}
    await books.check()


async def test_an_ask_without_a_price_passes_a_money_limit_in_shadow(pool: Pool) -> None:
    books = Books.on(pool)
    await books.budget(SESSION[0], limit_nano_usd=100, mode="hard", shadow=True)
    async with pool.acquire() as alone:
        answer = await books.ledger.hold(TENANT, request("k", 50, priced=False), connection=alone)
    assert (answer.gate.verdict, answer.state) == (Verdict.ALLOW, HoldState.HELD)
    assert [one.would and one.would.reason for one in answer.gate.scopes] == ["unknown_price"]


async def test_a_request_of_a_task_turns_no_stored_policy_into_a_shadow(pool: Pool) -> None:
    books = Books.on(pool)
    path = (SESSION[0], "task:t1")
    fields: list[dict[str, Any]] = [{"limit_tokens": 10, "mode": "hard"}, {"frozen": True, "mode": "hard"}]
    for given in fields:
        await books.budget(SESSION[0], clear=["limit_tokens", "frozen"], **given)
        await books.budget(SESSION[0], task="t1", shadow=True, limit_tokens=5)
        assert (await books.ask("k", 50, 0, *path)).gate.verdict is Verdict.REFUSE
    await books.budget("task:t1", task="t1", shadow=True, limit_tokens=5, mode="hard")
    await books.budget(SESSION[0], clear=["limit_tokens", "frozen", "mode"])
    await books.budget(SESSION[0], task="t1", clear=["limit_tokens"])
    assert (await books.ask("k", 50, 0, *path)).gate.verdict is Verdict.ALLOW
    assert await would(books, "task:t1") == {"refuse": 1}


async def test_a_template_in_shadow_gives_nothing_where_a_more_specific_policy_applies(pool: Pool) -> None:
    books = Books.on(pool)
    shadow = PolicyPatch(limit_nano_usd=0, limit_tokens=10, shadow=True)
    await PolicySets(pool, books.policies).apply(
        TENANT,
        {
            "session:*": shadow,
            "session:b*": PolicyPatch.parse({"limit_tokens": 20, "mode": "hard"}),
            "session:s1": PolicyPatch.parse({"limit_tokens": 30, "mode": "hard"}),
            "session:s2": PolicyPatch(warn_at=()),
        },
        by=TESTER,
    )
    for scope, admits, shadowed in (
        ("session:s1", False, False),
        ("session:b1", False, False),
        ("session:s2", True, True),
        ("session:a", True, True),
    ):
        answer = await books.ledger.hold(TENANT, request(f"key of {scope}", 31, 0, scope))
        assert (answer.gate.verdict.admits, answer.gate.scopes[0].would is not None) == (admits, shadowed), scope
        policy = (await books.policies.budget(TENANT, Path.parse([scope]).scopes[0])).policy
        assert policy.shadow is shadowed
        assert (policy.limit_nano_usd is None) is not shadowed, "its money limit does not apply either"
