"""Replays count in each window what was spent before them, and what rolls over."""

from datetime import timedelta
from typing import Any

import pytest

from purser.budget.gate import Amount, GateAnswer, Verdict
from purser.budget.policies.policy import PolicyPatch
from purser.budget.postgres.connections.pools import Pool
from purser.budget.reports.replay.calls import Recorded
from tests.support.budgets.replays import BEGIN, refused, replays
from tests.support.ledger import SESSION, TENANT, Books


async def test_what_was_spent_before_the_replay_counts(pool: Pool) -> None:
    books = Books.on(pool)
    for hour, window in enumerate(("lifetime", "day", "5h", "hour")):
        books.at(BEGIN - timedelta(hours=hour % 3 and 1))
        await books.spend(f"before {window}", 90, 0, f"session:{window}")
        books.at(BEGIN + timedelta(minutes=1))
        await books.spend(f"in {window}", 20, 0, f"session:{window}")
    wanted: dict[str, PolicyPatch | None] = {
        f"session:{window}": PolicyPatch.parse({"limit_tokens": 100, "mode": "hard", "window": window})
        for window in ("lifetime", "day", "5h", "hour")
    }
    answers: dict[str, Verdict] = {}

    def note(one: Recorded, answer: GateAnswer) -> None:
        answers[one.path[0].id] = answer.verdict

    await replays(books).run(TENANT, wanted, BEGIN + timedelta(seconds=30), note)
    assert answers == {
        "lifetime": Verdict.REFUSE, "day": Verdict.REFUSE, "5h": Verdict.REFUSE, "hour": Verdict.REFUSE,
    }  # fmt: skip


async def test_what_was_spent_before_the_replay_counts_for_further_limits_but_grants_of_others_do_not(
    pool: Pool,
) -> None:
    books = Books.on(pool)
    books.at(BEGIN)
    await books.spend("before", 90)
    await books.grant(SESSION[0], 500)
    since = BEGIN + timedelta(seconds=30)
    books.at(BEGIN + timedelta(minutes=1))
    await books.spend("in", 20)
    for period in ("day", "5h", "lifetime"):
        assert await refused(books, since, **{period: {"limit_tokens": 109}}) == 1
        assert await refused(books, since, **{period: {"limit_tokens": 110}}) == 0
    await books.budget(f"{SESSION[0]}@day", limit_tokens=109)
    books.at(BEGIN + timedelta(minutes=2))
    await books.spend("first of a further limit", 1)
    await books.grant(f"{SESSION[0]}@day", 50)
    since = BEGIN + timedelta(minutes=3)
    books.at(since)
    await books.spend("last", 1)
    assert await refused(books, since, day={"limit_tokens": 61}) == 1
    assert await refused(books, since, day={"limit_tokens": 62}) == 0


@pytest.mark.parametrize("window", ["lifetime", "day", "5h"])
async def test_a_hold_that_was_open_before_the_replay_ends_in_it(pool: Pool, window: str) -> None:
    books = Books.on(pool)
    books.at(BEGIN - timedelta(hours=5))
    first, second = await books.hold("k1", 50), await books.hold("k2", 50)
    since = BEGIN + timedelta(hours=1)
    books.at(since)
    await books.spend("while both are open", 100)
    await books.settle(first, 30)
    await books.ledger.extend(TENANT, second, Amount(10))
    await books.spend("while one is open", 10)
    await books.ledger.release(TENANT, hold_id=second)
    await books.spend("after both", 60)
    found = []
    wanted: dict[str, PolicyPatch | None] = {
        SESSION[0]: PolicyPatch.parse({"limit_tokens": 200, "mode": "hard", "window": window})
    }
    await replays(books).run(TENANT, wanted, since, lambda _, answer: found.append(answer.decisive.view))
    assert [(view.spent.tokens, view.held.tokens) for view in found] == [(0, 100), (130, 60), (140, 0)]


async def test_a_hold_across_midnight_ends_in_its_own_day_from_which_a_part_rolls_over(pool: Pool) -> None:
    books = Books.on(pool)
    books.at(BEGIN)
    open_hold = await books.hold("k1", 60)
    since = BEGIN + timedelta(days=1)
    books.at(since)
    await books.settle(open_hold, 20)
    await books.spend("first", 180)
    daily = {"limit_tokens": 100, "window": "day", "rollover": "1"}
    assert await refused(books, since, none=daily) == 0
    assert await refused(books, since, none=daily | {"limit_tokens": 99}) == 1


async def test_a_call_that_was_admitted_on_a_later_day_than_it_first_asked_counts_there(pool: Pool) -> None:
    books = Books.on(pool)
    books.at(BEGIN)
    await books.budget(SESSION[0], limit_tokens=10, mode="hard")
    await books.ask("asks again", 90)
    await books.budget(SESSION[0], limit_tokens=1_000)
    books.at(BEGIN + timedelta(days=1))
    await books.spend("asks again", 90)
    since = BEGIN + timedelta(days=1, minutes=1)
    books.at(since)
    await books.spend("in", 20)
    assert await refused(books, since, none={"limit_tokens": 109, "window": "day"}) == 1
    assert await refused(books, since, none={"limit_tokens": 110, "window": "day"}) == 0


async def test_in_a_rolling_window_a_charge_counts_at_its_own_time_and_what_has_not_ended_always(pool: Pool) -> None:
    books = Books.on(pool)
    books.at(BEGIN - timedelta(hours=6))
    await books.hold("open for long", 30)
    slow = await books.hold("slow", 20)
    await books.grant(SESSION[0], 500, until=BEGIN)
    books.at(BEGIN)
    await books.settle(slow, 20)
    await books.spend("ends the grant", 5)
    since = BEGIN + timedelta(minutes=1)
    books.at(since)
    await books.spend("in", 10)
    limits = {"window": "5h", "mode": "soft"}
    assert await refused(books, since, none=limits | {"limit_tokens": 64, "mode": "hard"}) == 0
    found = []
    wanted: dict[str, PolicyPatch | None] = {SESSION[0]: PolicyPatch.parse(limits | {"limit_tokens": 64})}
    await replays(books).run(TENANT, wanted, since, lambda _, answer: found.append(answer.decisive.view))
    assert [(view.spent.tokens, view.held.tokens, view.granted.tokens) for view in found] == [(25, 30, 0)]


async def test_a_replay_decides_anew_what_rolls_over(pool: Pool) -> None:
    books = Books.on(pool)
    daily: dict[str, Any] = {"limit_tokens": 100, "mode": "hard", "window": "day", "rollover": "0.5"}
    await books.budget(SESSION[0], **daily)
    for day, tokens in enumerate((10, 120, 130, 100)):
        books.at(BEGIN + timedelta(days=day))
        await books.spend(f"k{day}", tokens)
    assert await refused(books, none=daily) == 0
    assert await refused(books, none=daily | {"rollover": "0.4"}) == 1
    assert await refused(books, none={**daily, "rollover": None}) == 2


@pytest.mark.parametrize(("pause_days", "spent", "left"), [(1, 80, 20), (1, 30, 50), (3, 99, 50)])
async def test_the_window_before_the_replay_rolls_over_into_its_first(
    pool: Pool, pause_days: int, spent: int, left: int
) -> None:
    books = Books.on(pool)
    books.at(BEGIN)
    await books.spend("before", spent)
    since = BEGIN + timedelta(days=pause_days)
    books.at(since + timedelta(minutes=1))
    await books.spend("in", 100 + left)
    limits: dict[str, Any] = {"limit_tokens": 100, "rollover": "0.5"}
    for period, window in (("none", {"window": "day"}), ("day", {})):
        assert await refused(books, since, **{period: limits | window}) == 0
        assert await refused(books, since, **{period: limits | window | {"limit_tokens": 99}}) == 1


async def test_what_had_rolled_over_before_the_replay_counts_for_what_rolls_over_in_it(pool: Pool) -> None:
    books = Books.on(pool)
    daily: dict[str, Any] = {"limit_tokens": 100, "mode": "hard", "window": "day", "rollover": "0.5"}
    further: dict[str, Any] = {"limit_tokens": 100, "mode": "hard", "rollover": "0.5"}
    await books.budget(SESSION[0], **daily)
    await books.budget(f"{SESSION[0]}@day", **further)
    for day, tokens in enumerate((10, 120, 130)):
        books.at(BEGIN + timedelta(days=day))
        await books.spend(f"k{day}", tokens)
    since = BEGIN + timedelta(days=2) - timedelta(minutes=1)
    assert await refused(books, since, none=daily, day=further) == 0
    assert await refused(books, since, none=daily | {"limit_tokens": 99}, day=further) == 1
    assert await refused(books, since, none=daily, day=further | {"limit_tokens": 99}) == 1


async def test_a_lower_limit_that_a_task_requested_lowers_nothing_that_rolls_over(pool: Pool) -> None:
    books = Books.on(pool)
    books.at(BEGIN)
    await books.spend("k1", 10, 0, SESSION[0], "task:t1")
    await books.budget(SESSION[0], task="t1", limit_tokens=40, mode="hard")
    books.at(BEGIN + timedelta(days=1))
    await books.spend("k2", 150, 0, SESSION[0])
    daily = {"limit_tokens": 100, "window": "day", "rollover": "0.5"}
    assert await refused(books, none=daily) == 0
    assert await refused(books, none=daily | {"limit_tokens": 99}) == 1
    assert await refused(books, none=daily | {"rollover": "0.2"}) == 1
    books.at(BEGIN + timedelta(days=1, minutes=1))
    await books.spend("k3", 1, 0, SESSION[0])
    assert await refused(books, none=daily) == 1
