"""A hold that starts attempt 1 in its own transaction: the same as a hold and then an attempt."""

import asyncio
import random
from typing import Any

import pytest

from purser.budget.errors import AttemptConflict, BudgetError, HoldClosed
from purser.budget.gate import Amount, Verdict
from purser.budget.holds import HoldState
from tests.support.ledger import TENANT, Books, request

ATTEMPTS = "select hold_id::text, attempt, state from attempts order by hold_id, attempt"

STATES = """
select a.attempt, a.state, a.tokens from attempts a join holds h using (tenant, hold_id)
where $1 = any (h.path) order by hold_id, attempt
"""


async def attempts(books: Books) -> list[tuple[str, int, str]]:
    """Hold, number and state of every attempt."""
    return [tuple(row) for row in await books.pool.fetch(ATTEMPTS)]


async def numbers(books: Books) -> dict[str, int]:
    """Attempts of each hold, as the hold counts them."""
    rows = await books.pool.fetch("select hold_id::text, attempts from holds where state <> 'none'")
    return {row["hold_id"]: row["attempts"] for row in rows}


async def test_an_admitted_hold_starts_attempt_1(books: Books) -> None:
    answer = await books.ask("a", 100, start=True)
    assert answer.hold_id is not None
    assert answer.attempt == 1
    assert await attempts(books) == [(answer.hold_id, 1, "started")]
    assert await numbers(books) == {answer.hold_id: 1}
    assert (await books.settle(answer.hold_id, 60)).state == HoldState.SETTLED


async def test_a_hold_of_unknown_price_starts_as_well(books: Books) -> None:
    answer = await books.ask("a", 100, start=True, priced=False)
    assert (answer.attempt, len(await attempts(books))) == (1, 1)


async def test_without_start_nothing_starts(books: Books) -> None:
    assert (await books.ask("a", 100)).attempt is None
    assert await attempts(books) == []


async def test_members_of_a_batch_start_only_what_they_say(books: Books) -> None:
    await books.spend("known", 1)
    first = asyncio.ensure_future(books.ask("first", 1))
    await asyncio.sleep(0)
    plain, one, other = await asyncio.gather(
        books.ask("plain", 10), books.ask("one", 10, start=True), books.ask("other", 10, start=True)
    )
    await first
    assert [answer.attempt for answer in (plain, one, other)] == [None, 1, 1]
    started = {hold for hold, _, state in await attempts(books) if state == "started"}
    assert started == {one.hold_id, other.hold_id}
    counted = await numbers(books)
    assert [counted[str(answer.hold_id)] for answer in (plain, one, other)] == [0, 1, 1]


@pytest.mark.parametrize("mode", ["hard", "approval"])
async def test_what_is_not_admitted_starts_nothing(books: Books, mode: str) -> None:
    await books.budget("session:s1", limit_tokens=100, mode=mode)
    short = await books.ask("a", 101, start=True)
    assert short.gate.verdict is (Verdict.REFUSE if mode == "hard" else Verdict.ASK)
    await books.ask("open", 60)
    waits = await books.ask("b", 50, start=True)
    assert waits.gate.verdict is Verdict.WAIT
    assert (short.attempt, waits.attempt) == (None, None)
    assert await attempts(books) == []


async def test_a_hold_that_needs_a_price_starts_nothing(books: Books) -> None:
    await books.budget("session:s1", limit_nano_usd=100, mode="hard")
    assert (await books.ask("a", 1, start=True, priced=False)).attempt is None
    assert await attempts(books) == []


async def test_a_key_of_another_payload_starts_nothing(books: Books) -> None:
    await books.hold("a", 10)
    with pytest.raises(BudgetError, match="bound to another payload"):
        await books.ask("a", 11, start=True)
    assert await attempts(books) == []


async def test_the_same_ask_again_starts_nothing_twice(books: Books) -> None:
    first = await books.ask("a", 100, start=True)
    again = await books.ask("a", 100, start=True)
    assert (again.hold_id, again.attempt, again.expires_at) == (first.hold_id, 1, first.expires_at)
    assert await attempts(books) == [(first.hold_id, 1, "started")]
    assert await books.balance() == {"held": 100}


async def test_many_of_the_same_ask_at_once_start_one_attempt(books: Books) -> None:
    answers = await asyncio.gather(*(books.ask("a", 100, start=True) for _ in range(8)))
    assert {answer.attempt for answer in answers} == {1}
    assert await attempts(books) == [(answers[0].hold_id, 1, "started")]


async def test_an_answer_that_was_lost_comes_with_the_next_ask(books: Books) -> None:
    lost = asyncio.ensure_future(books.ask("a", 100, start=True))
    await asyncio.sleep(0)
    lost.cancel()
    await asyncio.gather(lost, return_exceptions=True)
    answer = await books.ask("a", 100, start=True)
    assert await attempts(books) == [(answer.hold_id, 1, "started")]
    assert await books.balance() == {"held": 100}


async def test_a_hold_that_was_made_without_start_can_be_started_by_the_same_ask(books: Books) -> None:
    hold_id = await books.hold("a", 100)
    answer = await books.ask("a", 100, start=True)
    assert (answer.hold_id, answer.attempt) == (hold_id, 1)
    assert await attempts(books) == [(hold_id, 1, "started")]


async def test_an_ask_whose_hold_has_ended_is_refused_as_an_attempt_would_be(books: Books) -> None:
    hold_id = await books.hold("a", 100, start=True)
    await books.settle(hold_id, 50)
    with pytest.raises(HoldClosed, match="settled: hold again under another key"):
        await books.ask("a", 100, start=True)
    assert (await books.ask("a", 100)).state == HoldState.SETTLED


async def test_an_ask_whose_attempt_is_over_is_refused_as_an_attempt_would_be(books: Books) -> None:
    hold_id = await books.hold("a", 100, start=True)
    await books.ledger.start_attempt(TENANT, hold_id, 2)
    with pytest.raises(AttemptConflict, match=r"attempt 1 of hold .* cannot start: the next is 3"):
        await books.ask("a", 100, start=True)
    assert [state for _, _, state in await attempts(books)] == ["presumed", "started"]


async def test_an_attempt_that_never_reports_is_presumed(books: Books) -> None:
    hold_id = await books.hold("a", 100, start=True)
    await books.ledger.release(TENANT, hold_id=hold_id)
    assert await books.balance() == {"spent": 100}


async def test_it_does_what_a_hold_and_then_an_attempt_do(books: Books, seed: int) -> None:
    """Random calls on two sessions: one starts with the hold, the other after it. Both end alike."""
    generator = random.Random(seed)
    for session in ("one", "two"):
        await books.budget(f"session:{session}", limit_tokens=2_000, mode="hard", warn_at=[0.5])
    for _ in range(60):
        key, tokens = f"k{generator.randrange(25)}", 50 * generator.randrange(1, 8)
        least = generator.choice([None, 1])
        end = generator.choice(["settle", "release", "next", "nothing", "nothing"])
        used = generator.randrange(0, 400)
        at_once = await call(books, "one", key, tokens, least, together=True)
        in_turn = await call(books, "two", key, tokens, least, together=False)
        assert at_once[0] == in_turn[0]
        if at_once[1] is not None and in_turn[1] is not None:
            assert await ended(books, at_once[1], end, used) == await ended(books, in_turn[1], end, used)
        assert await books.balance("session:one") == await books.balance("session:two")
    assert await books.entries("session:one") == await books.entries("session:two")
    one, two = [[tuple(row) for row in await books.pool.fetch(STATES, f"session:{name}")] for name in ("one", "two")]
    assert one == two
    assert one


async def call(
    books: Books, session: str, key: str, tokens: int, least: int | None, *, together: bool
) -> tuple[Any, str | None]:
    """Holds and starts attempt 1; what came of it, and the hold."""
    part = None if least is None else Amount(least)
    asked = request(f"{session}-{key}", tokens, 0, f"session:{session}", start=together, least=part)
    try:
        answer = await books.ledger.hold(TENANT, asked)
        if together or answer.hold_id is None:
            return (answer.gate.verdict, answer.amount, answer.state, answer.attempt), answer.hold_id
        started = await books.ledger.start_attempt(TENANT, answer.hold_id, 1)
        return (answer.gate.verdict, answer.amount, answer.state, started.attempt), answer.hold_id
    except BudgetError as error:
        return type(error), None


async def ended(books: Books, hold_id: str, end: str, used: int) -> Any:
    """What comes of the next step of a hold."""
    try:
        match end:
            case "settle":
                return (await books.settle(hold_id, used)).overrun
            case "release":
                return (await books.ledger.release(TENANT, hold_id=hold_id)).charged
            case "next":
                return (await books.ledger.start_attempt(TENANT, hold_id)).started
    except BudgetError as error:
        return type(error)
    return None
