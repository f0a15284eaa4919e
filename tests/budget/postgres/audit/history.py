"""A random history of a ledger over months, with all that its entries can be, and retention of its oldest part."""

import asyncio
import random
import re
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from purser.budget.errors import BudgetError
from purser.budget.gate import Amount
from purser.budget.holds import HoldRequest
from purser.budget.postgres.audit.retention import LEAST, LedgerRetention, Outcome
from purser.budget.postgres.connections.pools import Pool
from purser.budget.postgres.ledger.batches import Ask, Settle, hold_together, settle_together
from purser.budget.scopes import Scope
from tests.support.ledger import TENANT, Books, report, request

START = datetime(2027, 11, 20, 12, tzinfo=UTC)
TEAM = Scope.parse("tag:team=search")
HOLD = re.compile(r"\b[0-9]{7,}\b")
"""The id of a hold in a text; amounts here are smaller."""
RANDOM_BITS = 20
"""At the end of an id; before them is its number, which is the same in every ledger."""
POLICIES: dict[str, dict[str, Any]] = {
    "user:u1": {"limit_tokens": 60_000, "limit_nano_usd": 90_000, "mode": "hard", "window": "31d"},
    "user:u1@5h": {"limit_tokens": 6_000, "mode": "hard"},
    "session:s1": {"limit_tokens": 9_000, "mode": "hard", "window": "7d"},
    "session:s2": {"limit_tokens": 4_000, "mode": "approval", "window": "month", "rollover": "0.5"},
    "session:s3": {"limit_tokens": 90_000, "mode": "soft"},
    str(TEAM): {"limit_tokens": 5_000, "mode": "hard", "window": "day"},
}
PATHS = (
    ("user:u1", "session:s1", "task:t1"),
    ("user:u1", "session:s2"),
    ("session:s3", "task:t2", "agent:t2/a"),
    ("user:u1", "session:s3"),
)


@dataclass
class History:
    """What happens is decided by `dice` alone, so two ledgers with the same seed get the same calls."""

    books: Books
    dice: random.Random
    now: datetime = START
    open: list[str] = field(default_factory=list)
    silent: list[tuple[str, datetime]] = field(default_factory=list)
    """Holds that ended with an attempt that did not report."""
    turn: int = 0

    @classmethod
    async def begin(cls, pool: Pool, seed: int) -> "History":
        books = Books.on(pool)
        made = cls(books, random.Random(seed))
        books.at(START)
        for scope, fields in POLICIES.items():
            await books.budget(scope, **fields)
        return made

    async def go_on(self, turns: int) -> list[str]:
        """What the ledger answers to the next calls."""
        return [await self._step() for _ in range(turns)]

    async def _step(self) -> str:
        self.turn += 1
        self.now += timedelta(hours=self.dice.choice([0, 0, 1, 5, 12, 30]), seconds=self.dice.randint(0, 90))
        self.books.at(self.now)
        verb = self.dice.choice(["hold", "hold", "batch", "settle", "settle", "leave", "late", "other"])
        try:
            done = f"{self.turn} {verb} {await getattr(self, f'_{verb}')()}"
        except BudgetError as error:
            return f"{self.turn} {verb} {type(error).__name__}"
        return HOLD.sub(lambda hold: str(int(hold[0]) >> RANDOM_BITS), done)

    def _request(self) -> HoldRequest:
        path, tokens = self.dice.choice(PATHS), self.dice.randint(1, 900)
        key, labels = f"k{self.turn}-{self.dice.random()}", (TEAM,) if self.dice.random() < 0.4 else ()
        return request(key, tokens, tokens * 2, *path, labels=labels, patient=False, lease_ms=86_400_000)

    async def _hold(self) -> str:
        answer = await self.books.ledger.hold(TENANT, self._request())
        if answer.hold_id is not None:
            self.open.append(answer.hold_id)
        return f"{answer.hold_id} {answer.gate}"

    async def _batch(self) -> str:
        asks = [Ask(TENANT, self._request()) for _ in range(self.dice.randint(2, 6))]
        answers = await hold_together(self.books.pool, self.books.settings, self.now, asks)
        self.open += [answer.hold_id for answer in answers if answer is not None and answer.hold_id is not None]
        return " ".join(f"{answer and (answer.hold_id, answer.gate)}" for answer in answers)

    async def _settle(self) -> str:
        """All open holds but two: together, or one by one, some beyond what they hold."""
        going = [self.open.pop(0) for _ in range(len(self.open) - 2)]
        if not going:
            return "nothing"
        costs = {hold: self.dice.randint(0, 1_100) for hold in going}
        if self.dice.random() < 0.5:
            for hold in going:
                if self.dice.random() < 0.5:
                    await self.books.ledger.start_attempt(TENANT, hold, 1)
        settles = [Settle(TENANT, int(hold), 1, report(cost, cost * 2)) for hold, cost in costs.items()]
        done = await settle_together(self.books.pool, self.books.settings, self.now, settles)
        for hold, one in zip(going, done, strict=True):
            if one is None:
                await self.books.settle(hold, costs[hold], costs[hold] * 2)
        return str(done)

    async def _leave(self) -> str:
        """Attempts that never report, under holds that are released or that nobody comes back to."""
        for _ in range(min(2, len(self.open))):
            hold = self.open.pop(0)
            await self.books.ledger.start_attempt(TENANT, hold, 1)
            if self.dice.random() < 0.3:
                await self.books.ledger.start_attempt(TENANT, hold, 2)
            elif self.dice.random() < 0.6:
                await self.books.ledger.release(TENANT, hold_id=hold)
            self.silent.append((hold, self.now))
        return "left"

    async def _late(self) -> str:
        """A report that comes days or weeks after its attempt was presumed."""
        hold, left = self.silent.pop(0) if self.silent else ("0", START)
        if self.now - left > timedelta(days=50):
            return "too late"
        cost = self.dice.randint(0, 900)
        return str(await self.books.settle(hold, cost, cost * 2))

    async def _other(self) -> str:
        verb = self.dice.randint(0, 4)
        if verb == 0:
            return f"expired {await self.books.ledger.sweep()}"
        if verb == 1 and self.turn > 20:
            until = self.now + timedelta(days=self.dice.randint(1, 20))
            await self.books.grant(self.dice.choice(["session:s2", "session:s3"]), 500, 700, until=until)
            return "granted"
        if verb == 2:
            await self.books.budget("session:s3", limit_tokens=self.dice.randint(50_000, 90_000))
            return "changed"
        if verb == 3 and self.open:
            return str(await self.books.ledger.extend(TENANT, self.open[0], Amount(50, 100)))
        return str(await self.books.ledger.release(TENANT, key=f"closed {self.turn}"))


async def close_all(pool: Pool, most: int) -> None:
    """Makes checkpoints over ranges of at most this many numbers, up to the last event."""
    while await pool.fetchval(
        "select coalesce(max(last_number), 0) < (select coalesce(max(number), 0) from journal) from checkpoints"
    ):
        if not await pool.fetchval("select ledger_checkpoint($1, null)", most):
            await asyncio.sleep(0.02)


async def forget(pool: Pool, now: datetime, age: timedelta = LEAST) -> tuple[int, Outcome]:
    """Deletes all ranges that are old enough; how many, and what the next one says."""
    retention, closed = LedgerRetention(pool, age, now=now), 0
    while (found := await retention.close()).outcome is Outcome.CLOSED:
        closed += 1
    return closed, found.outcome
