"""Rollover: what is left of a calendar window is granted to the next one, up to a share of the limit."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from purser.budget.gate import Amount, Verdict
from purser.budget.policies.sets import read_policies
from purser.budget.postgres.ledger.batches import Ask, hold_together
from purser.budget.postgres.ledger.policy_sets import PolicySets
from purser.budget.scopes import Scope
from tests.support.actors import TESTER
from tests.support.ledger import TENANT, Books, meet, request

DAY = datetime(2028, 2, 28, 12, tzinfo=UTC)
"""Before a leap day."""
SESSION = Scope.parse("session:s1")


async def roll_daily(books: Books) -> Books:
    """100 tokens and 1,000 nano-dollars a day, of which up to half rolls over."""
    await books.budget(
        "session:s1", limit_tokens=100, limit_nano_usd=1_000, mode="hard", window="day", rollover="0.5", warn_at=[]
    )
    return books


@pytest.fixture
async def daily(books: Books) -> Books:
    """A ledger in which a part of each day rolls over."""
    return await roll_daily(books)


async def granted(books: Books, days: int) -> Amount:
    """What has rolled over into a day: as shown before its first call, and after it."""
    books.at(DAY + timedelta(days=days))
    shown = (await books.policies.budget(TENANT, SESSION)).granted
    await books.spend(f"first of day {days}", 1, 1)
    assert (await books.policies.budget(TENANT, SESSION)).granted == shown
    return shown


async def test_what_is_left_rolls_over_up_to_the_share_of_the_limit(daily: Books) -> None:
    assert await granted(daily, 0) == Amount()
    await daily.spend("most", 69, 99)
    assert await granted(daily, 1) == Amount(30, 500)
    assert (await daily.ask("over", 130)).hold_id is None
    assert (await daily.ask("all", 129, 1_499)).hold_id


async def test_what_had_rolled_over_rolls_over_again_within_the_share(daily: Books) -> None:
    await granted(daily, 0)
    assert await granted(daily, 1) == Amount(50, 500)
    await daily.spend("more than the limit", 119, 1_499)
    assert await granted(daily, 2) == Amount(30, 0)


async def test_a_window_that_was_not_used_leaves_the_whole_limit(daily: Books) -> None:
    await granted(daily, 0)
    await daily.spend("rest", 99, 999)
    assert await granted(daily, 2) == Amount(50, 500)


async def test_open_holds_and_other_grants_do_not_roll_over(daily: Books) -> None:
    await granted(daily, 0)
    await daily.grant("session:s1", 1_000, 1_000)
    await daily.hold("open", 90, 900, lease_ms=10**8 // 2)
    assert await granted(daily, 1) == Amount(9, 99)


async def test_what_has_rolled_over_is_no_room_of_the_window_before(daily: Books) -> None:
    await granted(daily, 0)
    old = await daily.hold("old", 10, lease_ms=86_400_000)
    assert await granted(daily, 1) == Amount(50, 500)
    more = await daily.ledger.extend(TENANT, old, Amount(40))
    assert (more.extended, more.gate and more.gate.verdict) == (False, Verdict.REFUSE)
    assert (await daily.ledger.extend(TENANT, old, Amount(39))).extended
    daily.at(DAY)
    late = [Ask(TENANT, request(key, 1)) for key in ("late", "later")]
    assert await hold_together(daily.pool, daily.settings, daily.ledger.now, late) == [None, None]
    assert (await daily.ask("late", 1)).hold_id is None


async def test_what_an_ask_of_the_window_before_is_about_to_hold_does_not_roll_over(daily: Books) -> None:
    await granted(daily, 0)
    first = await meet(
        daily.pool,
        lambda own: daily.ledger.hold(TENANT, request("last of day 0", 90), own),
        lambda: tomorrow(daily).ask("first of day 1", 110),
    )
    assert first.gate.verdict is Verdict.REFUSE
    assert (await tomorrow(daily).ask("smaller", 109)).hold_id


def tomorrow(books: Books) -> Books:
    """The same ledger a day later."""
    later = Books.on(books.pool)
    later.at(DAY + timedelta(days=1))
    return later


async def test_a_window_in_which_nothing_was_admitted_counts_as_not_used(daily: Books) -> None:
    await granted(daily, 0)
    await daily.spend("rest", 99, 999)
    daily.at(DAY + timedelta(days=1))
    assert (await daily.ask("too much", 1_000)).hold_id is None
    assert await granted(daily, 2) == Amount(50, 500)
    daily.at(DAY + timedelta(days=3))
    await daily.budget("session:s1", frozen=True)
    assert (await daily.ask("frozen", 1)).hold_id is None
    await daily.budget("session:s1", frozen=False)
    assert await granted(daily, 4) == Amount(50, 500)


async def test_what_one_task_requested_for_itself_lowers_nothing_that_rolls_over(daily: Books) -> None:
    await granted(daily, 0)
    await daily.budget("session:s1", task="t1", limit_tokens=10)
    await daily.spend("of the task", 5, 0, "session:s1", "task:t1")
    assert await granted(daily, 1) == Amount(50, 500)


async def test_nothing_rolls_over_from_a_window_without_this_limit_or_of_another_kind(books: Books) -> None:
    books.at(DAY)
    await books.spend("unlimited", 1)
    await books.budget("session:s1", limit_tokens=100, mode="hard", window="day", rollover=1)
    assert await granted(books, 1) == Amount()
    await books.budget("session:s1", window="hour")
    assert await granted(books, 2) == Amount(100)
    await books.budget("session:s1", window="month")
    assert await granted(books, 3) == Amount()


async def test_what_rolled_over_into_a_day_is_not_granted_to_its_month_nor_rolls_on_from_it(daily: Books) -> None:
    await granted(daily, 0)
    assert await granted(daily, 2) == Amount(50, 500), "on the first day of March"
    await daily.budget("session:s1", window="month")
    assert (await daily.policies.budget(TENANT, SESSION)).granted == Amount()
    await daily.budget("session:s1", rollover=1)
    assert await granted(daily, 33) == Amount(99, 999)


async def test_a_scope_may_have_none_where_its_template_has(books: Books) -> None:
    daily = read_policies({"session:*": {"limit_tokens": 100, "mode": "hard", "window": "day", "rollover": 0.5}})
    await PolicySets(books.pool, books.policies).apply(TENANT, daily, by=TESTER)
    await granted(books, 0)
    assert await granted(books, 1) == Amount(50)
    await books.budget("session:s1", rollover=0)
    assert await granted(books, 2) == Amount()


async def test_the_lower_limit_of_both_windows_counts(daily: Books) -> None:
    await granted(daily, 0)
    await daily.spend("some", 59)
    await daily.budget("session:s1", limit_tokens=1_000)
    daily.at(DAY + timedelta(days=1))
    assert (await daily.policies.budget(TENANT, SESSION)).granted.tokens == 500
    await daily.budget("session:s1", limit_tokens=70)
    assert await granted(daily, 1) == Amount(10, 500)


async def test_many_first_calls_roll_over_once(daily: Books) -> None:
    await granted(daily, 0)
    daily.at(DAY + timedelta(days=1))
    together = [Ask(TENANT, request("one", 1, 1)), Ask(TENANT, request("other", 1, 1))]
    assert await hold_together(daily.pool, daily.settings, daily.ledger.now, together) == [None, None]
    answers = await asyncio.gather(*(daily.ask(f"k{number}", 10, 10) for number in range(20)))
    assert sum(answer.hold_id is not None for answer in answers) == 15
    assert (await daily.entries()).count("grant") == 1


async def test_a_window_whose_only_ask_was_left_alone_counts_as_not_used(daily: Books) -> None:
    await granted(daily, 0)
    daily.at(DAY + timedelta(days=1))
    used_key, plain = request("first of day 0", 2, 2), request("elsewhere", 1, 1, "session:s2")
    batch = [Ask(TENANT, used_key), Ask(TENANT, plain)]
    [alone, held] = await hold_together(daily.pool, daily.settings, daily.ledger.now, batch)
    assert alone is None
    assert held
    assert await granted(daily, 2) == Amount(50, 500)


async def test_a_refused_first_call_rolls_over_too_and_only_once(daily: Books) -> None:
    await granted(daily, 0)
    daily.at(DAY + timedelta(days=1))
    assert (await daily.ask("too much", 151)).hold_id is None
    assert (await daily.ask("all", 150)).hold_id
    assert (await daily.entries()).count("grant") == 1


async def test_a_day_rolls_over_once_while_hours_of_its_path_begin(daily: Books) -> None:
    await daily.budget("task:t1", limit_tokens=100, mode="hard", window="hour")
    await granted(daily, 0)
    await granted(daily, 1)
    for hours in (1, 2):
        daily.at(DAY + timedelta(days=1, hours=hours))
        await daily.hold(f"hour {hours}", 10, 0, "session:s1", "task:t1", lease_ms=10**8 // 2)
    assert (await daily.entries()).count("grant") == 1
