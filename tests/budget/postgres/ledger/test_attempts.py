"""Charges of attempts: in order, in full and once, even if they report late or not at all."""

from datetime import UTC, datetime, timedelta

import pytest

from purser.budget.errors import AttemptConflict
from purser.budget.gate import Amount, Verdict
from purser.budget.holds import HoldState
from tests.support.ledger import TENANT, Books

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


# --- attempts --------------------------------------------------------------------------------------------------------


async def test_a_report_sent_twice_is_charged_once(books: Books) -> None:
    hold_id = await books.hold("k", 100)
    await books.ledger.start_attempt(TENANT, hold_id, 1)
    first = await books.settle(hold_id, 70)
    assert await books.settle(hold_id, 70) == first
    assert await books.settle(hold_id, 70, keep_open=True) == first
    assert await books.balance() == {"spent": 70}
    with pytest.raises(AttemptConflict, match=f"attempt 1 of hold '{hold_id}' has reported another usage"):
        await books.settle(hold_id, 71)
    assert await books.entries() == ["hold", "settle"]


async def test_a_call_that_really_happened_twice_is_two_attempts_both_charged(books: Books) -> None:
    hold_id = await books.hold("k", 100)
    await books.ledger.start_attempt(TENANT, hold_id, 1)
    second = await books.ledger.start_attempt(TENANT, hold_id, 2)
    assert (second.attempt, second.started, second.amount) == (2, True, Amount(100))
    assert await books.balance() == {"spent": 100, "held": 100}
    await books.settle(hold_id, 40, attempt=2)
    assert await books.balance() == {"spent": 140}
    assert await books.entries() == ["hold", "presumed", "top_up", "settle"]


async def test_starting_the_same_attempt_again_changes_nothing(books: Books) -> None:
    hold_id = await books.hold("k", 100)
    first = await books.ledger.start_attempt(TENANT, hold_id, 1)
    assert await books.ledger.start_attempt(TENANT, hold_id, 1) == first
    assert await books.balance() == {"held": 100}


async def test_attempts_start_in_order(books: Books) -> None:
    hold_id = await books.hold("k", 100)
    with pytest.raises(AttemptConflict, match=r"attempt 2 of hold .* cannot start: the next is 1"):
        await books.ledger.start_attempt(TENANT, hold_id, 2)
    assert [(await books.ledger.start_attempt(TENANT, hold_id)).attempt for _ in range(2)] == [1, 2]
    with pytest.raises(AttemptConflict, match="the next is 3"):
        await books.ledger.start_attempt(TENANT, hold_id, 1)
    with pytest.raises(AttemptConflict, match=r"attempt 4 of hold .* never started: the next is 3"):
        await books.settle(hold_id, 1, attempt=4)


async def test_an_attempt_that_cost_nothing_keeps_the_whole_hold(books: Books) -> None:
    hold_id = await books.hold("k", 100, 10)
    await books.ledger.start_attempt(TENANT, hold_id, 1)
    done = await books.settle(hold_id, 0, keep_open=True)
    assert (done.state, done.charged) == (HoldState.HELD, Amount())
    second = await books.ledger.start_attempt(TENANT, hold_id, 2)
    assert second.amount == Amount(100, 10)
    await books.settle(hold_id, 90, 9, attempt=2)
    assert (await books.balance(), await books.money()) == ({"spent": 90}, {"spent": 9})
    assert "presumed" not in await books.entries()


async def test_a_failed_attempt_that_cost_something_is_charged_and_the_next_one_topped_up(books: Books) -> None:
    await books.budget("session:s1", limit_tokens=130, mode="hard")
    hold_id = await books.hold("k", 100, 10)
    await books.ledger.start_attempt(TENANT, hold_id, 1)
    done = await books.settle(hold_id, 30, 3, keep_open=True)
    assert (done.state, done.overrun) == (HoldState.HELD, Amount())
    assert (await books.balance(), await books.money()) == ({"spent": 30, "held": 70}, {"spent": 3, "held": 7})
    second = await books.ledger.start_attempt(TENANT, hold_id, 2)
    assert (second.started, second.amount) == (True, Amount(100, 10))
    assert await books.balance() == {"spent": 30, "held": 100}
    await books.settle(hold_id, 100, 10, attempt=2)


async def test_a_top_up_that_does_not_fit_starts_nothing_and_says_what_lacks(books: Books) -> None:
    await books.budget("session:s1", limit_tokens=129, mode="hard")
    hold_id = await books.hold("k", 100)
    await books.ledger.start_attempt(TENANT, hold_id, 1)
    await books.settle(hold_id, 30, keep_open=True)
    short = await books.ledger.start_attempt(TENANT, hold_id, 2)
    assert (short.started, short.attempt, short.amount) == (False, 2, Amount(30))
    # What the hold itself still sets aside would never be freed by waiting.
    assert short.gate is not None
    assert short.gate.verdict is Verdict.REFUSE
    assert await books.balance() == {"spent": 30, "held": 70}
    await books.budget("session:s1", limit_tokens=130)
    assert (await books.ledger.start_attempt(TENANT, hold_id, 2)).started


async def test_a_top_up_waits_only_for_the_holds_of_others(books: Books) -> None:
    await books.budget("session:s1", limit_tokens=200, mode="hard")
    hold_id = await books.hold("k", 100)
    other = await books.hold("other", 100)
    await books.ledger.start_attempt(TENANT, hold_id, 1)
    short = await books.ledger.start_attempt(TENANT, hold_id, 2)
    assert short.gate is not None
    assert short.gate.verdict is Verdict.WAIT
    assert await books.balance() == {"spent": 100, "held": 100}
    await books.ledger.release(TENANT, hold_id=other)
    assert (await books.ledger.start_attempt(TENANT, hold_id, 2)).started


async def test_a_call_may_report_without_having_started_an_attempt(books: Books) -> None:
    hold_id = await books.hold("k", 100)
    assert (await books.settle(hold_id, 80)).state is HoldState.SETTLED
    assert await books.balance() == {"spent": 80}


async def test_a_report_of_the_next_attempt_presumes_the_silent_one_before_it(books: Books) -> None:
    hold_id = await books.hold("k", 100)
    await books.ledger.start_attempt(TENANT, hold_id, 1)
    done = await books.settle(hold_id, 80, attempt=2)
    assert (done.state, done.overrun) == (HoldState.SETTLED, Amount(80))
    assert await books.balance() == {"spent": 180, "overrun": 80}


# --- overrun ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("left", "verdict"), [(50, Verdict.ALLOW), (51, Verdict.REFUSE)])
async def test_usage_above_the_hold_is_recorded_in_full_and_gives_no_headroom(
    books: Books, left: int, verdict: Verdict
) -> None:
    await books.budget("session:s1", limit_tokens=1_000, mode="hard", warn_at=[])
    hold_id = await books.hold("k", 100, 10)
    done = await books.settle(hold_id, 950, 12)
    assert (done.charged, done.overrun) == (Amount(950, 12), Amount(850, 2))
    assert await books.balance() == {"spent": 950, "overrun": 850}
    assert await books.money() == {"spent": 12, "overrun": 2}
    assert await books.entries() == ["hold", "settle", "overrun"]
    assert (await books.ask("next", left)).gate.verdict is verdict


async def test_usage_beyond_the_limit_is_recorded_and_blocks_what_follows(books: Books) -> None:
    await books.budget("session:s1", limit_tokens=100, mode="hard")
    await books.settle(await books.hold("k", 100), 5_000)
    answer = await books.ask("next", 1)
    assert answer.gate.verdict is Verdict.REFUSE
    assert answer.gate.scopes[0].headroom_tokens == -4_900


# --- late reports ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("actual", "overrun"), [(40, 0), (100, 0), (130, 30)])
@pytest.mark.parametrize("end", ["expired", "released", "next attempt"])
async def test_a_late_report_replaces_the_presumed_charge(books: Books, actual: int, overrun: int, end: str) -> None:
    books.at(NOW)
    hold_id = await books.hold("k", 100)
    await books.ledger.start_attempt(TENANT, hold_id, 1)
    if end == "expired":
        books.at(NOW + timedelta(days=1))
        await books.ledger.sweep()
    elif end == "released":
        await books.ledger.release(TENANT, hold_id=hold_id)
    else:
        await books.ledger.start_attempt(TENANT, hold_id, 2)
    assert (await books.balance())["spent"] == 100
    done = await books.settle(hold_id, actual)
    assert (done.charged, done.overrun, done.late) == (Amount(actual), Amount(overrun), True)
    assert done.state == ("held" if end == "next attempt" else end)
    assert await books.settle(hold_id, actual) == done
    with pytest.raises(AttemptConflict):
        await books.settle(hold_id, actual + 1)
    balance = await books.balance()
    assert (balance["spent"], balance.get("overrun", 0)) == (actual, overrun)
    assert (await books.entries()).count("late") == 1
    if end == "next attempt":
        assert balance["held"] == 100
        await books.settle(hold_id, 10, attempt=2)
        assert (await books.balance())["spent"] == actual + 10


@pytest.mark.parametrize(("actual", "overrun"), [(40, 0), (130, 30), (300, 200)])
@pytest.mark.parametrize("end", ["expired", "released", "next attempt"])
async def test_an_attempt_that_may_exceed_its_hold_is_presumed_at_the_most_it_can_use(
    books: Books, actual: int, overrun: int, end: str
) -> None:
    books.at(NOW)
    hold_id = await books.hold("k", 100, 10)
    await books.ledger.start_attempt(TENANT, hold_id, 1, most=Amount(250, 25))
    assert await books.balance() == {"held": 100}
    if end == "expired":
        books.at(NOW + timedelta(days=1))
        await books.ledger.sweep()
    elif end == "released":
        await books.ledger.release(TENANT, hold_id=hold_id)
    else:
        await books.ledger.start_attempt(TENANT, hold_id, 2, most=Amount(250, 25))
    presumed, money = await books.balance(), await books.money()
    assert (presumed["spent"], presumed["overrun"]) == (250, 150)
    assert (money["spent"], money["overrun"]) == (25, 15)
    await books.check()
    done = await books.settle(hold_id, actual, 4)
    assert (done.charged, done.overrun, done.late) == (Amount(actual, 4), Amount(overrun), True)
    balance = await books.balance()
    assert (balance["spent"], balance.get("overrun", 0)) == (actual, overrun)
    await books.check()


async def test_the_most_of_an_attempt_that_reports_changes_nothing(books: Books) -> None:
    hold_id = await books.hold("k", 100)
    await books.ledger.start_attempt(TENANT, hold_id, 1, most=Amount(250))
    await books.settle(hold_id, 70)
    assert await books.balance() == {"spent": 70}


async def test_a_report_after_a_release_without_any_attempt_is_late_and_all_overrun(books: Books) -> None:
    hold_id = await books.hold("k", 100)
    await books.ledger.release(TENANT, hold_id=hold_id)
    done = await books.settle(hold_id, 70)
    assert (done.state, done.overrun, done.late) == (HoldState.RELEASED, Amount(70), True)
    assert await books.balance() == {"spent": 70, "overrun": 70}


async def test_a_start_does_not_shorten_an_extended_lease(books: Books) -> None:
    hold_id = await books.hold("k", 10)
    extended = await books.ledger.extend(TENANT, hold_id, lease_ms=3_600_000)
    assert (await books.ledger.start_attempt(TENANT, hold_id, 1)).expires_at == extended.expires_at
