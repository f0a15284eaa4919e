"""Many callers at once, in several processes: nothing is overspent, nothing is lost, and nothing deadlocks."""

import asyncio
import random
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import chain

import pytest

from purser.budget.errors import HoldClosed
from purser.budget.gate import Amount
from purser.budget.holds import HoldAnswer
from purser.budget.postgres.connections.pools import Pool
from tests.support.ledger import TENANT, Books, crowd, report
from tests.support.runs.proof import sized

CALLERS, PROCESSES = 200, 3
PER_CALLER = sized(10, 50)
LIMIT = 85 * CALLERS * PER_CALLER  # most of what as many asks of 1 to 200 tokens want together


@dataclass(frozen=True)
class Outcome:
    """What the callers of one process got."""

    held: tuple[tuple[str, int], ...]
    """Hold and tokens."""
    refused: tuple[int, ...]
    """Tokens."""


async def ask_much(seed: int, pool: Pool, index: int) -> Outcome:
    """The asks of a third of the callers, on one session and tasks and agents of their own."""
    books = Books.on(pool)

    async def caller(number: int) -> list[tuple[HoldAnswer, int]]:
        dice = random.Random(seed + number)
        path = ("session:s1", f"task:t{number % 10}", f"agent:t{number % 10}/a{number}")
        answers = []
        for turn in range(PER_CALLER):
            tokens = dice.randint(1, 200)
            answers.append((await books.ask(f"{number}/{turn}", tokens, tokens * 7, *path, patient=False), tokens))
        return answers

    answers = list(chain(*await asyncio.gather(*map(caller, range(index, CALLERS, PROCESSES)))))
    return Outcome(
        tuple((answer.hold_id, tokens) for answer, tokens in answers if answer.hold_id is not None),
        tuple(tokens for answer, tokens in answers if answer.hold_id is None),
    )


async def settle_all(held: Sequence[tuple[str, int]], pool: Pool, index: int) -> None:
    """Settles a share of the holds at half of what they set aside."""
    books = Books.on(pool)
    share = held[index::PROCESSES]
    await asyncio.gather(*(books.settle(hold_id, tokens // 2, tokens * 3) for hold_id, tokens in share))


@pytest.mark.proof
async def test_thousands_of_holds_of_200_callers_in_3_processes_never_exceed_the_limit(
    books: Books, dsn: str, pool: Pool, seed: int
) -> None:
    await books.budget("session:s1", limit_tokens=LIMIT, mode="hard")
    outcomes = crowd(dsn, partial(ask_much, seed))
    held = [hold for outcome in outcomes for hold in outcome.held]
    refused = [tokens for outcome in outcomes for tokens in outcome.refused]
    assert len(held) + len(refused) == CALLERS * PER_CALLER
    admitted = sum(tokens for _, tokens in held)
    assert await books.balance() == {"held": admitted}
    assert admitted <= LIMIT
    assert refused, "the limit was never reached: the test proves nothing"
    assert min(refused) > LIMIT - admitted, "a refused ask would have fitted in addition to what is held"
    highest = await pool.fetchval("select max(spent_tokens + held_tokens) from entries where limit_tokens is not null")
    assert highest <= LIMIT
    await books.check()

    crowd(dsn, partial(settle_all, held))
    spent = sum(tokens // 2 for _, tokens in held)
    assert await books.balance() == {"spent": spent}
    assert not (await books.ask("one too many", LIMIT - spent + 1)).hold_id
    assert (await books.ask("exactly", LIMIT - spent)).hold_id


async def ask_fifty(pool: Pool, index: int) -> int:
    """Asks of 1,000 at once, some in one batch, some each by itself."""
    together = Books.on(pool)
    answers = await asyncio.gather(
        *(
            (together if number % 2 else Books.on(pool)).ask(f"{index}/{number}", 1_000, patient=False)
            for number in range(index, 50, PROCESSES)
        )
    )
    return sum(answer.hold_id is not None for answer in answers)


async def test_of_50_holds_of_1000_on_a_hard_10000_exactly_10_pass(books: Books, dsn: str) -> None:
    await books.budget("session:s1", limit_tokens=10_000, mode="hard")
    assert sum(crowd(dsn, ask_fifty)) == 10
    assert await books.balance() == {"held": 10_000}


async def same_key(pool: Pool, index: int) -> set[str | None]:
    """One key, asked, settled and released by many callers at once."""
    books = Books.on(pool)
    callers = [books] * 5 + [Books.on(pool) for _ in range(5)]  # in one batch, and each alone
    answers = await asyncio.gather(*(caller.ask("k", 100) for caller in callers))
    (hold_id,) = {answer.hold_id for answer in answers}
    assert hold_id
    await asyncio.gather(*(caller.settle(hold_id, 70) for caller in callers))
    await asyncio.gather(*(books.ledger.release(TENANT, key="k") for _ in range(5)))
    return {hold_id}


async def test_one_key_asked_and_settled_concurrently_holds_once_and_is_charged_once(books: Books, dsn: str) -> None:
    assert len(set().union(*crowd(dsn, same_key))) == 1
    assert await books.balance() == {"spent": 70}
    assert await books.entries() == ["hold", "settle"]


SCOPES = (
    "tenant:t",
    "user:u1",
    "session:s1",
    "session:s2",
    "task:t1",
    "task:t2",
    "agent:t1/a",
    "agent:t1/c",
    "agent:t2/b",
)
PATHS = (
    ("session:s1", "task:t1", "agent:t1/a"),
    ("tenant:t", "session:s1", "task:t2", "agent:t2/b"),
    ("user:u1", "session:s2", "task:t1", "agent:t1/a"),
    ("tenant:t", "user:u1", "session:s2", "task:t2"),
    ("task:t1", "agent:t1/a", "agent:t1/c"),
    ("tenant:t", "user:u1", "session:s1", "task:t1", "agent:t1/c", "agent:t1/a"),
)


@dataclass(frozen=True)
class Regular:
    """A caller that uses every verb on its holds, and meets others on some keys."""

    books: Books
    dice: random.Random
    name: str

    async def works(self, turns: int) -> None:
        for turn in range(turns):
            # A hold may end under its owner: by the sweeper, or by the one who shares the key.
            with suppress(HoldClosed):
                if self.dice.random() < 0.2:
                    await self._shares(f"shared/{self.dice.randrange(20)}")
                else:
                    await self._asks(f"{self.name}/{turn}")

    async def _shares(self, key: str) -> None:
        await self.books.ask(key, 50, 0, *PATHS[0])
        await self.books.ledger.release(TENANT, key=key)

    async def _asks(self, key: str) -> None:
        tokens, lease = self.dice.randint(1, 300), self.dice.choice([None, 1, 60_000])
        path = self.dice.choice(PATHS)
        answer = await self.books.ask(key, tokens, tokens * 3, *path, least=Amount(1, 1), lease_ms=lease)
        attempts = 0
        while answer.hold_id is not None and self.dice.random() < 0.6:
            if not (await self.books.ledger.start_attempt(TENANT, answer.hold_id, attempts + 1)).started:
                break
            attempts += 1
            if self.dice.random() < 0.3:
                await self.books.settle(answer.hold_id, self.dice.randint(0, 100), 1, attempts, keep_open=True)
            if self.dice.random() < 0.3:
                await self.books.ledger.extend(TENANT, answer.hold_id, Amount(self.dice.randint(0, 50)))
        if answer.hold_id is not None and self.dice.random() < 0.7:
            await self._settles(answer.hold_id, attempts + 1)
        else:
            await self.books.ledger.release(TENANT, key=key)

    async def _settles(self, hold_id: str, attempt: int) -> None:
        usage = report(self.dice.randint(0, 400), 5)
        if self.dice.random() < 0.5:
            await self.books.ledger.settle(TENANT, hold_id, attempt, usage)
            return
        async with self.books.pool.acquire() as own, own.transaction():
            await self.books.ledger.settle(TENANT, hold_id, attempt, usage, connection=own)


async def do_everything(seed: int, pool: Pool, index: int) -> None:
    """Every verb on overlapping paths, with a sweeper and changing policies in parallel."""
    books, dice = Books.on(pool, grace_s=0), random.Random(seed + index)
    callers = [Regular(books, random.Random(dice.random()), f"{index}/{number}") for number in range(20)]

    async def sweeper() -> None:
        while True:
            await books.ledger.sweep()
            await asyncio.sleep(0.01)

    async def manager() -> None:
        while True:
            mode = dice.choice(["hard", "soft", "approval"])
            await books.budget(dice.choice(SCOPES), limit_tokens=dice.randint(1, 5_000), mode=mode)
            await books.grant(dice.choice(SCOPES), dice.randint(1, 500))
            await asyncio.sleep(0.02)

    background = [asyncio.create_task(work()) for work in (sweeper, manager)]
    await asyncio.gather(*(caller.works(turns=sized(5, 12)) for caller in callers))
    for task in background:
        assert not task.done(), task.exception()
        task.cancel()
    await asyncio.gather(*background, return_exceptions=True)


@pytest.mark.proof
async def test_every_verb_at_once_on_overlapping_paths_ends_with_every_balance_right(
    books: Books, dsn: str, pool: Pool, seed: int
) -> None:
    for scope in SCOPES:
        await books.budget(scope, limit_tokens=3_000, mode="hard")
    deadlocks = "select deadlocks from pg_stat_database where datname = current_database()"
    before = await pool.fetchval(deadlocks)
    crowd(dsn, partial(do_everything, seed))
    assert await pool.fetchval(deadlocks) == before
    states = {row["state"] for row in await pool.fetch("select distinct state from holds")}
    assert {"settled", "released", "expired"} <= states, states


async def test_two_sweepers_at_once_end_each_hold_once(books: Books, dsn: str, pool: Pool) -> None:
    for number in range(60):
        await books.hold(f"k{number}", 10, 0, "session:s1", f"task:t{number % 7}", lease_ms=1)
    assert sum(crowd(dsn, sweep_all)) == 60
    assert await books.balance() == {}
    assert (await books.entries()).count("expire") == 60


async def sweep_all(pool: Pool, index: int) -> int:
    """Sweeps until nothing is left, several at a time."""
    books = Books.on(pool, grace_s=0)
    total, swept = 0, 1
    while swept:
        swept = sum(await asyncio.gather(*(books.ledger.sweep(limit=7) for _ in range(3))))
        total += swept
    return total
