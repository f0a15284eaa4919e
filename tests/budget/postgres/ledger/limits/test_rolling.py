"""Rolling windows: what was charged within a length of time that ends now."""

import random
from datetime import UTC, datetime, timedelta

import pytest

from purser.budget.gate import Amount, Verdict
from purser.budget.postgres.audit.audit import audit
from purser.budget.postgres.ledger.batches import Ask, hold_together
from purser.budget.scopes import Scope
from purser.budget.windows import rolling_length
from tests.support.ledger import TENANT, Books, request

NOW = datetime(2026, 10, 24, 20, tzinfo=UTC)
"""The evening before clocks are set back in Europe: a rolling window does not notice."""
SESSION = Scope.parse("session:s1")
HOUR, MINUTE = timedelta(hours=1), timedelta(minutes=1)


async def shown(books: Books) -> int:
    return (await books.policies.budget(TENANT, SESSION)).spent.tokens


async def test_a_charge_counts_for_the_length_of_the_window_and_no_longer(books: Books) -> None:
    await books.budget("session:s1", limit_tokens=100, mode="hard", window="5h", timezone="Europe/Berlin")
    books.at(NOW)
    await books.spend("first", 60)
    books.at(NOW + HOUR)
    await books.spend("second", 40)
    books.at(NOW + 5 * HOUR - timedelta(microseconds=1))
    assert (await books.ask("early", 1)).gate.verdict is Verdict.REFUSE
    assert await shown(books) == 100
    books.at(NOW + 5 * HOUR)
    assert await shown(books) == 40
    assert (await books.ask("over", 61)).gate.verdict is Verdict.REFUSE
    assert (await books.ask("fits", 60)).hold_id
    assert (await books.entries())[4:] == ["rolled_off", "hold"]


async def test_charges_fall_out_at_most_once_in_a_sixtieth_of_the_length(books: Books) -> None:
    await books.budget("session:s1", limit_tokens=1_000, mode="hard", window="1h")
    for second in range(0, 600, 20):
        books.at(NOW + timedelta(seconds=second))
        await books.spend(f"old {second}", 1)
    for second in range(0, 600, 20):
        books.at(NOW + HOUR + timedelta(seconds=second))
        await books.spend(f"new {second}", 1)
    assert (await books.entries()).count("rolled_off") == 10


async def test_a_late_report_falls_out_with_the_charge_that_it_replaces(books: Books) -> None:
    await books.budget("session:s1", limit_tokens=1_000, mode="hard", window="5h")
    books.at(NOW)
    holds = [await books.hold(f"silent {number}", 100) for number in range(2)]
    for hold in holds:
        await books.ledger.start_attempt(TENANT, hold, 1)
        await books.ledger.release(TENANT, hold_id=hold)
    assert await shown(books) == 200
    books.at(NOW + HOUR)
    await books.settle(holds[0], 30)
    assert await shown(books) == 130
    books.at(NOW + 5 * HOUR)
    assert await shown(books) == 0
    await books.spend("first", 10)
    await books.settle(holds[1], 5)  # its charge of 100 is out, so this takes nothing back
    assert await shown(books) == 10
    together = [Ask(TENANT, request("one", 500)), Ask(TENANT, request("other", 491))]
    assert await hold_together(books.pool, books.settings, books.ledger.now, together) == [None, None]
    assert (await books.ask("all", 991)).gate.verdict is Verdict.REFUSE
    assert (await books.ask("rest", 990)).hold_id


async def test_a_top_up_uses_the_room_that_has_returned(books: Books) -> None:
    await books.budget("session:s1", limit_tokens=100, mode="hard", window="1h")
    books.at(NOW)
    await books.spend("old", 90)
    books.at(NOW + 30 * MINUTE)
    hold = await books.hold("k", 10, lease_ms=10**7)
    assert not (await books.ledger.extend(TENANT, hold, Amount(90))).extended
    books.at(NOW + HOUR)
    assert (await books.ledger.extend(TENANT, hold, Amount(90))).extended


async def test_a_grant_ends_after_the_length_of_the_window(books: Books) -> None:
    await books.budget("session:s1", limit_tokens=100, mode="hard", window="1h")
    books.at(NOW)
    await books.spend("old", 100)
    await books.grant("session:s1", 50)
    assert (await books.ask("granted", 50)).hold_id
    books.at(NOW + HOUR)
    assert (await books.ask("over", 51, patient=False)).gate.verdict is Verdict.REFUSE


async def test_a_warning_fires_again_after_the_balance_fell_below_it(books: Books) -> None:
    await books.budget("session:s1", limit_tokens=100, mode="soft", window="1h", warn_at=["0.8"])
    for hours in range(3):
        books.at(NOW + hours * HOUR)
        await books.spend(f"first {hours}", 80)
        await books.spend(f"second {hours}", 5)
    starts = await books.pool.fetch("select window_start from events where kind = 'threshold' order by event_id")
    assert [row["window_start"] for row in starts] == [NOW + (hours - 1) * HOUR for hours in range(3)]


async def test_a_refusal_knows_when_room_returns(books: Books) -> None:
    await books.budget("session:s1", limit_tokens=100, mode="hard", window="1h")
    for minutes in (0, 10, 20):
        books.at(NOW + minutes * MINUTE)
        await books.spend(f"{minutes}", 30)
    for tokens, minutes in ((11, 0), (40, 0), (41, 10), (70, 10), (71, 20), (100, 20)):
        found = await books.policies.room_returns(TENANT, SESSION, Amount(tokens))
        assert found == NOW + HOUR + (minutes + 1) * MINUTE
    assert await books.policies.room_returns(TENANT, SESSION, Amount(101)) is None


async def test_another_length_counts_by_itself(books: Books) -> None:
    books.at(NOW)
    for window in ("1h", "lifetime", "24h", "1d"):
        await books.budget("session:s1", limit_tokens=100, mode="hard", window=window)
        assert bool((await books.ask(window, 100)).hold_id) is (window != "1d")


@pytest.mark.parametrize("window", ["1h", "5h", "7d"])
async def test_the_ledger_equals_a_plain_sum_to_a_sixtieth(books: Books, seed: int, window: str) -> None:
    dice, length = random.Random(f"{seed} {window}"), rolling_length(window) or timedelta()
    await books.budget("session:s1", limit_tokens=1_000, mode="hard", window=window)
    charges: list[tuple[datetime, int]] = []
    admitted, now = 0, NOW
    for turn in range(120):
        now += length * dice.choice([0, 0.001, 0.01, 0.01, 0.03, 0.2])
        books.at(now)
        tokens = dice.randint(1, 120)
        within = sum(charge for at, charge in charges if at > now - length)
        lately = sum(charge for at, charge in charges if at > now - length * 61 / 60)
        assert within <= await shown(books) <= lately
        answer = await books.ask(f"k{turn}", tokens)
        if answer.hold_id:
            assert within + tokens <= 1_000
            await books.settle(answer.hold_id, tokens)
            charges.append((now, tokens))
            admitted += 1
        else:
            assert lately + tokens > 1_000
    assert 10 < admitted < 120


async def test_the_audit_finds_a_wrong_roll_off(books: Books) -> None:
    await books.budget("session:s1", limit_tokens=100, mode="hard", window="1h")
    books.at(NOW)
    await books.spend("old", 60)
    books.at(NOW + HOUR)
    await books.spend("new", 10)
    await books.pool.execute("update balances set rolled_to = rolled_to + 1")
    await books.pool.execute("update balances set rolled_to = rolled_to + 2")
    found = await audit(books.pool)
    assert {difference["check"] for difference in found.differences} == {"rolling"}
    await books.pool.execute("update balances set rolled_to = rolled_to - 3")


async def test_a_late_report_gives_no_room_to_an_ask_that_began_before_it(books: Books) -> None:
    await books.budget("session:s1", limit_tokens=100, mode="hard", window="1h")
    books.at(NOW - 2 * HOUR)
    old = await books.hold("old", 100)
    await books.ledger.start_attempt(TENANT, old, 1)
    await books.ledger.release(TENANT, key="old")
    books.at(NOW - 30 * MINUTE)
    await books.spend("recent", 30)
    books.at(NOW)
    assert (await books.settle(old, 0)).late
    books.at(NOW - timedelta(seconds=1))
    assert (await books.ask("waited for a lock", 71)).gate.verdict is Verdict.REFUSE
    assert (await books.ask("fits", 70)).hold_id


async def test_an_ask_may_roll_off_after_a_later_entry(books: Books) -> None:
    await books.budget("session:s1", limit_tokens=100, mode="hard", window="1h")
    books.at(NOW - HOUR)
    await books.spend("falls out", 10)
    books.at(NOW - HOUR + timedelta(seconds=1))
    await books.spend("stays", 1)
    books.at(NOW - MINUTE)
    open_hold = await books.hold("open", 5)
    books.at(NOW + timedelta(seconds=2))
    await books.settle(open_hold, 5)
    books.at(NOW)
    await books.hold("waited for a lock", 5)
    assert "rolled_off" in await books.entries()
    await books.check()
