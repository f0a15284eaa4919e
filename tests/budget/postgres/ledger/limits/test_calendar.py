"""Windows in the ledger: midnight, month ends, clock changes, and grants that end."""

from datetime import UTC, datetime, timedelta

import pytest

from purser.budget.gate import Amount, Verdict
from purser.budget.policies.sets import read_policies
from purser.budget.postgres.ledger.policy_sets import PolicySets
from purser.budget.scopes import Scope
from tests.support.actors import TESTER
from tests.support.ledger import TENANT, Books

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
SESSION = Scope.parse("session:s1")


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


async def allowed(books: Books, at: str, tokens: int) -> bool:
    """Whether the session lets that much through at that moment; it is spent if so."""
    books.at(utc(at))
    answer = await books.ask(f"{at} {tokens}", tokens)
    if answer.hold_id:
        await books.settle(answer.hold_id, tokens)
    return answer.hold_id is not None


# --- windows ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("window", "zone", "before", "after"),
    [
        ("hour", "Europe/Berlin", "2026-11-20 11:59:59.999999", "2026-11-20 12:00"),
        ("hour", "Asia/Kathmandu", "2026-11-20 12:14:59", "2026-11-20 12:15"),
        ("hour", "Europe/Berlin", "2026-10-25 00:59:59", "2026-10-25 01:00"),  # 02:59:59 in summer, then 02:00 again
        ("hour", "Europe/Berlin", "2026-03-29 00:59:59", "2026-03-29 01:00"),  # 01:59:59, then 03:00
        ("day", "Europe/Berlin", "2026-11-20 22:59:59", "2026-11-20 23:00"),
        ("day", "Europe/Berlin", "2026-03-29 21:59:59", "2026-03-29 22:00"),  # ends a day of 23 hours
        ("day", "Europe/Berlin", "2026-10-25 22:59:59", "2026-10-25 23:00"),  # ends a day of 25 hours
        ("day", "America/Havana", "2026-11-01 03:59:59", "2026-11-01 04:00"),  # the first of two midnights
        ("day", "Africa/Cairo", "2026-04-23 21:59:59", "2026-04-23 22:00"),  # midnight is missing
        ("week", "Europe/Berlin", "2026-03-29 21:59:59", "2026-03-29 22:00"),  # Monday after the clock was set forward
        ("week", "America/Havana", "2026-11-02 04:59:59", "2026-11-02 05:00"),  # ends a week of 169 hours
        ("week", "UTC", "2024-03-03 23:59:59", "2024-03-04"),  # the week of a leap day
        ("day", "UTC", "2028-02-29 23:59:59", "2028-03-01"),
        ("month", "America/New_York", "2026-11-01 03:59:59", "2026-11-01 04:00"),
        ("month", "America/Havana", "2026-11-01 03:59:59", "2026-11-01 04:00"),
        ("month", "Pacific/Apia", "2026-12-31 10:59:59", "2026-12-31 11:00"),  # the year begins
    ],
)
async def test_a_new_window_begins_with_the_whole_limit(
    books: Books, window: str, zone: str, before: str, after: str
) -> None:
    await books.budget("session:s1", limit_tokens=100, mode="hard", window=window, timezone=zone)
    assert await allowed(books, before, 100)
    assert not await allowed(books, before, 1)
    assert await allowed(books, after, 100)
    assert not await allowed(books, after, 1)
    assert list((await books.windows()).values()) == [100, 100]


async def test_where_midnight_happens_twice_the_day_goes_on(books: Books) -> None:
    await books.budget("session:s1", limit_tokens=100, mode="hard", window="day", timezone="America/Havana")
    assert await allowed(books, "2026-11-01 04:30", 60)  # 00:30 in summer
    assert not await allowed(books, "2026-11-01 05:30", 41)  # 00:30 again
    assert await allowed(books, "2026-11-02 04:59", 40)
    assert await allowed(books, "2026-11-02 05:00", 100)


async def test_a_hold_stays_in_the_window_it_was_taken_in(books: Books) -> None:
    await books.budget("session:s1", limit_tokens=100, mode="hard", window="day", timezone="UTC", warn_at=[])
    books.at(utc("2026-11-20 23:59"))
    settled = await books.hold("settled", 50)
    expired = await books.hold("expired", 50)
    books.at(utc("2026-11-21 00:01"))
    assert (await books.ask("next day", 100)).gate.verdict is Verdict.ALLOW
    # Attempts and corrections too: yesterday was full, so a second attempt does not fit there.
    await books.ledger.start_attempt(TENANT, settled, 1)
    assert not (await books.ledger.start_attempt(TENANT, settled, 2)).started
    await books.settle(settled, 20)
    await books.ledger.start_attempt(TENANT, expired, 1)
    books.at(utc("2026-11-22 00:01"))
    await books.ledger.sweep()
    await books.settle(expired, 45)
    assert await books.windows() == {utc("2026-11-20 00:00"): 65}
    view = await books.policies.budget(TENANT, SESSION)
    assert (view.spent.tokens, view.window_start, view.window_end) == (
        0,
        utc("2026-11-22 00:00"),
        utc("2026-11-23 00:00"),
    )


async def test_scopes_of_one_path_may_count_different_windows(books: Books) -> None:
    await books.budget("session:s1", limit_tokens=100, mode="hard", window="hour")
    await books.budget("task:t1", limit_tokens=150, mode="hard")
    path = ("session:s1", "task:t1")
    books.at(utc("2026-11-20 10:30"))
    await books.spend("one", 100, 0, *path)
    books.at(utc("2026-11-20 11:30"))
    assert str((await books.ask("two", 51, 0, *path)).gate.decisive.scope) == "task:t1"
    await books.spend("three", 50, 0, *path)
    assert await books.windows() == {utc("2026-11-20 10:00"): 100, utc("2026-11-20 11:00"): 50}


async def test_a_new_window_policy_counts_anew_and_lets_live_holds_end_where_they_began(books: Books) -> None:
    await books.budget("session:s1", limit_tokens=100, mode="hard")
    books.at(NOW)
    hold_id = await books.hold("k", 100)
    await books.budget("session:s1", window="day")
    assert (await books.ask("next", 100)).gate.verdict.admits
    await books.settle(hold_id, 70)
    assert sorted((await books.windows()).values()) == [70, 100]


async def test_two_tasks_may_ask_for_different_windows_of_a_session_without_a_stored_limit(books: Books) -> None:
    books.at(NOW)
    await books.budget("session:s1", task="t1", limit_tokens=100, mode="hard", window="hour")
    await books.budget("session:s1", task="t2", limit_tokens=100, mode="hard", window="day")
    for task in ("t1", "t2"):
        await books.spend(task, 100, 0, "session:s1", f"task:{task}")
        assert not (await books.ask(f"{task} more", 1, 0, "session:s1", f"task:{task}")).hold_id


async def test_under_a_stored_limit_no_request_counts_in_another_window(books: Books) -> None:
    books.at(NOW)
    await books.budget("session:s1", limit_tokens=100, mode="hard")
    await books.spend("k", 100)
    await books.budget("session:s1", task="t1", window="hour", mode="soft", limit_tokens=10**6)
    assert not (await books.ask("again", 1, 0, "session:s1", "task:t1")).hold_id


# --- grants ----------------------------------------------------------------------------------------------------------


async def test_a_grant_counts_until_the_instant_it_ends(books: Books) -> None:
    await books.budget("session:s1", limit_tokens=100, mode="hard", warn_at=[])
    books.at(NOW)
    await books.spend("before", 100)
    await books.grant("session:s1", 50, until=NOW + timedelta(minutes=10))
    books.at(NOW + timedelta(minutes=10, microseconds=-1))
    assert (await books.ask("within", 30)).hold_id
    books.at(NOW + timedelta(minutes=10))
    assert (await books.policies.budget(TENANT, SESSION)).granted.tokens == 0
    answer = await books.ask("after", 1)
    assert (answer.gate.verdict, answer.gate.scopes[0].headroom_tokens) == (Verdict.REFUSE, -30)
    assert await books.entries() == ["hold", "settle", "grant", "hold", "grant_ended"]


async def test_grants_end_one_by_one_in_the_gate_or_the_sweeper(books: Books) -> None:
    await books.budget("session:s1", limit_tokens=100, mode="hard")
    books.at(NOW)
    await books.hold("k", 100)
    for minutes in (10, 20):
        await books.grant("session:s1", 50, until=NOW + timedelta(minutes=minutes))
    await books.grant("session:s1", 7)
    assert (await books.balance())["granted"] == 107
    books.at(NOW + timedelta(minutes=15))
    assert [await books.ledger.sweep(), await books.ledger.sweep()] == [2, 0]  # the hold's lease is over as well
    assert await books.balance() == {"granted": 57}
    books.at(NOW + timedelta(minutes=20))
    assert not (await books.ask("next", 108)).hold_id
    assert (await books.ask("fits", 107)).hold_id
    assert await books.ledger.sweep() == 0


async def test_sweeps_in_parts_end_all_grants(books: Books) -> None:
    books.at(NOW)
    sessions = [f"session:s{number}" for number in range(3)]
    for session in sessions:
        await books.spend(session, 1, 0, session)
        await books.grant(session, 50, until=NOW + timedelta(minutes=10))
    books.at(NOW + timedelta(minutes=10))
    assert [await books.ledger.sweep(limit=2) for _ in range(3)] == [2, 1, 0]


async def test_a_grant_is_for_the_window_it_was_given_in(books: Books) -> None:
    await books.budget("session:s1", limit_tokens=100, mode="hard", window="day", timezone="UTC")
    assert await allowed(books, "2026-11-20 23:00", 100)
    await books.grant("session:s1", 50)
    assert await allowed(books, "2026-11-20 23:01", 50)
    assert not await allowed(books, "2026-11-21 00:00", 101)
    assert await allowed(books, "2026-11-21 00:01", 100)


@pytest.mark.parametrize("changed", ["session:s1", "session:*"])
async def test_a_window_of_another_kind_that_began_at_the_same_instant_counts_on_without_its_grants(
    books: Books, changed: str
) -> None:
    async def limit(tokens: int, window: str) -> None:
        fields = {"limit_tokens": tokens, "mode": "hard", "window": window}
        await PolicySets(books.pool, books.policies).apply(TENANT, read_policies({changed: fields}), by=TESTER)

    await limit(100, "day")
    assert await allowed(books, "2026-11-01 10:00", 90)
    await books.grant("session:s1", 50)
    await books.grant("session:s1", 5, until=utc("2026-12-24 00:00"))
    await limit(101, "day")
    assert await books.balance() == {"spent": 90, "granted": 55}, "it is still the same day"
    books.at(utc("2026-11-20 10:00"))
    await limit(102, "month")
    assert await books.balance() == {"spent": 90}
    assert not await allowed(books, "2026-11-20 10:00", 13)
    assert await allowed(books, "2026-11-20 10:00", 12)


async def test_the_grants_of_other_windows_outlast_a_change(books: Books) -> None:
    await books.budget("session:s1", limit_tokens=100, mode="hard")
    assert await allowed(books, "2026-11-01 10:00", 100)
    await books.grant("session:s1", 50)
    for window in ("day", "lifetime"):
        await books.budget("session:s1", window=window)
    assert await allowed(books, "2026-11-01 10:01", 50)


async def test_room_returns_with_the_next_window_only_to_what_its_limit_and_reserve_admit(books: Books) -> None:
    books.at(NOW)
    await books.budget("task:t1", limit_tokens=100, limit_nano_usd=50, last_answer=0.2, mode="hard", window="day")
    await books.spend("k", 80, 40, "task:t1")
    await books.grant("task:t1", 1_000, 1_000)
    task, end = Scope.parse("task:t1"), utc("2026-11-21 00:00")
    for ask, at in (
        (Amount(80), end), (Amount(81), None), (Amount(1, 40), end), (Amount(1, 41), None), (Amount(80, 0), end),
    ):  # fmt: skip
        assert await books.policies.room_returns(TENANT, task, ask) == at, ask
    earlier = utc("2026-11-19 00:00")
    assert await books.policies.room_returns(TENANT, task, Amount(1), window_start=earlier) is None
    assert await books.policies.room_returns(TENANT, task, Amount(1), window_start=utc("2026-11-20 00:00")) == end
    await books.budget("task:t1", limit_tokens=0)
    assert await books.policies.room_returns(TENANT, task, Amount(0, 1)) is None, "nothing fits a limit of 0"


async def test_top_ups_do_not_use_grants_that_have_ended(books: Books) -> None:
    await books.budget("session:s1", limit_tokens=100, mode="hard")
    books.at(NOW)
    hold_id = await books.hold("k", 100)
    await books.grant("session:s1", 50, until=NOW + timedelta(seconds=60))
    books.at(NOW + timedelta(seconds=60))
    assert not (await books.ledger.extend(TENANT, hold_id, Amount(1))).extended
