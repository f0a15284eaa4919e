"""Warning events: each threshold fires once per window."""

import asyncio
from datetime import UTC, datetime, timedelta
from decimal import Decimal

from purser.budget.gate import Amount, Verdict
from purser.budget.postgres.events.events import Events
from tests.support.ledger import TENANT, Books

THRESHOLDS = [0.5, 0.8, 1]


async def fired(books: Books) -> list[tuple[str, Decimal]]:
    """Scope and threshold of every warning, oldest first."""
    rows = await books.pool.fetch("select scope, threshold from events where kind = 'threshold' order by event_id")
    return [(row["scope"], row["threshold"]) for row in rows]


def session(*thresholds: str) -> list[tuple[str, Decimal]]:
    return [("session:s1", Decimal(threshold)) for threshold in thresholds]


async def test_a_threshold_fires_when_it_is_reached_and_not_one_below(books: Books) -> None:
    await books.budget("session:s1", limit_tokens=1_000, mode="hard", warn_at=THRESHOLDS)
    below = await books.ask("below", 499)
    assert (below.gate.verdict, await fired(books)) == (Verdict.ALLOW, [])
    assert (await books.ask("at", 1)).gate.verdict is Verdict.WARN
    assert await fired(books) == session("0.5")


async def test_every_ask_is_warned_and_the_event_comes_once(books: Books) -> None:
    await books.budget("session:s1", limit_tokens=1_000, mode="soft", warn_at=THRESHOLDS)
    for number in range(4):
        answer = await books.ask(f"k{number}", 500)
        assert answer.gate.verdict is Verdict.WARN
    assert await fired(books) == session("0.5", "0.8", "1")


async def test_one_ask_that_passes_several_thresholds_fires_each(books: Books) -> None:
    await books.budget("session:s1", limit_nano_usd=1_000, mode="hard", warn_at=THRESHOLDS)
    await books.hold("k", 1, 800)
    assert await fired(books) == session("0.5", "0.8")


async def test_fifty_that_cross_at_once_fire_once(books: Books) -> None:
    await books.budget("session:s1", limit_tokens=5_000, mode="hard", warn_at=THRESHOLDS)
    await books.hold("first", 1)
    each = [Books.on(books.pool) for _ in range(10)]
    await asyncio.gather(*(each[number % 10].ask(f"k{number}", 99) for number in range(50)))
    assert await fired(books) == session("0.5", "0.8")


async def test_each_scope_of_a_path_fires_for_itself(books: Books) -> None:
    await books.budget("session:s1", limit_tokens=1_000, warn_at=[0.5])
    await books.budget("task:t1", limit_tokens=100, warn_at=[0.9])
    await books.hold("k", 95, 0, "session:s1", "task:t1")
    assert await fired(books) == [("task:t1", Decimal("0.9"))]


async def test_a_new_window_fires_again(books: Books) -> None:
    await books.budget("session:s1", limit_tokens=100, window="day", warn_at=[0.8])
    for day in (20, 21):
        books.at(datetime(2026, 11, day, 12, tzinfo=UTC))
        for number in range(2):
            await books.hold(f"{day}/{number}", 80)
    assert await fired(books) == session("0.8", "0.8")


async def test_overruns_and_top_ups_fire_too(books: Books) -> None:
    await books.budget("session:s1", limit_tokens=1_000, warn_at=THRESHOLDS)
    hold_id = await books.hold("k", 400)
    await books.ledger.extend(TENANT, hold_id, Amount(100))
    assert await fired(books) == session("0.5")
    await books.settle(hold_id, 900)
    assert await fired(books) == session("0.5", "0.8")


async def test_a_late_report_that_costs_more_fires(books: Books) -> None:
    await books.budget("session:s1", limit_tokens=1_000, warn_at=[0.8])
    hold_id = await books.hold("k", 400)
    await books.ledger.start_attempt(TENANT, hold_id, 1)
    await books.ledger.release(TENANT, hold_id=hold_id)
    await books.settle(hold_id, 800)
    assert await fired(books) == session("0.8")


async def test_a_refused_ask_and_an_empty_list_of_thresholds_fire_nothing(books: Books) -> None:
    await books.budget("session:s1", limit_tokens=100, mode="hard")
    await books.ask("refused", 101)
    await books.budget("session:s1", warn_at=[])
    await books.hold("k", 100)
    assert await fired(books) == []


async def test_an_event_carries_the_figures(books: Books) -> None:
    await books.budget("session:s1", limit_tokens=100, limit_nano_usd=50, mode="approval", warn_at=[0.8])
    await books.spend("spent", 10, 1)
    await books.grant("session:s1", 20)
    await books.hold("k", 100, 7)
    assert await books.pool.fetchval("select data from events where kind = 'threshold'") == {
        "mode": "approval",
        "limit": {"tokens": 100, "nano_usd": 50},
        "granted": {"tokens": 20, "nano_usd": 0},
        "spent": {"tokens": 10, "nano_usd": 1},
        "held": {"tokens": 100, "nano_usd": 7},
    }


async def test_a_lower_threshold_that_is_added_in_mid_window_fires_too(books: Books) -> None:
    await books.budget("session:s1", limit_tokens=1_000, mode="soft", warn_at=[0.8])
    await books.hold("first", 900)
    await books.budget("session:s1", warn_at=[0.5, 0.8])
    await books.hold("second", 1)
    await books.hold("third", 1)
    assert await fired(books) == session("0.8", "0.5")


async def test_a_threshold_does_not_fire_again_when_its_event_is_deleted(books: Books) -> None:
    await books.budget("session:s1", limit_tokens=1_000, mode="soft", warn_at=[0.8])
    await books.hold("first", 900)
    events = Events(books.pool)
    await events.number()
    assert await events.forget(timedelta(0)) == 2
    await books.hold("second", 1)
    assert await fired(books) == []


async def test_an_event_of_a_stored_policy_names_actor_and_fields(books: Books) -> None:
    await books.budget("session:s1", limit_tokens=100)
    await books.budget("session:s1", limit_tokens=100)
    await books.budget("session:s1", frozen=True)
    await books.budget("session:s1", task="t1", limit_tokens=5)
    rows = await books.pool.fetch("select scope, data from events where kind = 'budget' order by event_id")
    assert [tuple(row) for row in rows] == [
        ("session:s1", {"by": "test", "fields": {"limit_tokens": {"before": None, "after": 100}}}),
        ("session:s1", {"by": "test", "fields": {"frozen": {"before": None, "after": True}}}),
    ]
