"""A random batch answers and posts exactly what its calls get one by one."""

import random
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from purser.budget.errors import BudgetError
from purser.budget.gate import Amount
from purser.budget.holds import HoldAnswer, HoldRequest, HoldState, Report
from purser.budget.policies.policy import PolicyPatch
from purser.budget.postgres.ledger.batches import Ask, Settle, hold_together, settle_together
from purser.budget.scopes import Path, Scope
from tests.support.actors import TESTER
from tests.support.ledger import Books, report
from tests.support.runs.proof import sized

TEAM = Scope.parse("tag:team=search")
SESSIONS = ("session:hard", "session:asks", "session:soft", "session:shadow", "session:full")
POLICIES: dict[str, dict[str, Any]] = {
    "user:u1": {"limit_tokens": 30_000, "limit_nano_usd": 20_000, "mode": "hard", "warn_at": [0.2, 0.5, 0.9]},
    "user:u1@5h": {"limit_tokens": 6_000, "mode": "hard"},
    "session:hard": {"limit_tokens": 2_500, "mode": "hard", "window": "1h"},
    "session:asks": {"limit_tokens": 2_500, "limit_nano_usd": 2_000, "mode": "approval", "window": "day"},
    "session:soft": {"limit_tokens": 500, "warn_at": [0.5, 1.0]},
    "session:shadow": {"limit_tokens": 500, "mode": "hard", "shadow": True},
    "session:full": {"limit_tokens": 10, "mode": "hard"},
    str(TEAM): {"limit_tokens": 5_000, "mode": "hard"},
}
NOW = datetime(2028, 2, 28, 20, tzinfo=UTC)
ENTRIES = """
select s.kind || ':' || s.id, e.window_start, e.seq, e.at, e.kind, h.key, e.attempt, e.d_spent_tokens, e.d_held_tokens,
       e.d_overrun_tokens, e.d_spent_nano, e.d_held_nano, e.d_overrun_nano, e.spent_tokens, e.held_tokens,
       e.overrun_tokens, e.spent_nano, e.held_nano, e.overrun_nano, e.limit_tokens, e.limit_nano, e.mode
from entries e join scopes s using (tenant, scope_id) left join holds h using (tenant, hold_id)
where e.tenant = $1 order by 1, 2, 3
"""
STORED = {
    "holds": "select key, state, tokens, nano, asked_tokens, asked_nano, charged_tokens, charged_nano, attempts, path,"
    " labels, model, expires_at from holds where tenant = $1 order by 1",
    "attempts": "select h.key, a.attempt, a.state, a.tokens, a.nano, a.overrun_tokens, a.overrun_nano, a.late, a.usage"
    " from attempts a join holds h using (tenant, hold_id) where a.tenant = $1 order by 1, 2",
    "waiters": "select h.key, s.kind, s.id, w.since, w.asks from waiters w join holds h using (tenant, hold_id)"
    " join scopes s using (tenant, scope_id) where w.tenant = $1 order by 1, 2, 3",
    "events": "select kind, scope, window_start, threshold from events where tenant = $1 and kind in"
    " ('threshold', 'shadow') order by 1, 2, 3, 4",
    # A batch may open the balance of an ask that it leaves alone: one that nothing has moved says nothing.
    "scopes": "select s.kind, s.id, b.window_start from scopes s left join balances b on b.tenant = s.tenant"
    " and b.scope_id = s.scope_id and b.seq > 0 where s.tenant = $1 order by 1, 2, 3",
    "shadow": "select s.id, c.window_start, c.outcome, c.calls, c.tokens, c.nano from shadow_counts c"
    " join scopes s using (tenant, scope_id) where c.tenant = $1 order by 1, 2, 3",
}


async def test_a_random_batch_is_what_its_calls_are_one_by_one(books: Books, seed: int) -> None:
    dice, now, open_holds = random.Random(seed), NOW, dict[str, tuple[str, str]]()
    for tenant in ("batch", "alone"):
        for scope, fields in POLICIES.items():
            patch = PolicyPatch.parse(fields)
            await books.policies.set(tenant, Scope.parse(scope), patch, by=TESTER)
    taken = left = overran = 0
    for turn in range(sized(16, 40)):
        now += timedelta(minutes=dice.choice([0, 0, 1, 30]))
        books.at(now)
        requests = [asked(dice, turn, number) for number in range(dice.randrange(2, 9))]
        asks = [Ask("batch", request) for request in requests]
        together = await hold_together(books.pool, books.settings, now, asks)
        in_order = [n for n, one in enumerate(together) if one] + [n for n, one in enumerate(together) if not one]
        for number in in_order:
            answer = together[number] or await outcome(books, "batch", requests[number])
            other = await outcome(books, "alone", requests[number])
            assert shown(answer) == shown(other), requests[number]
            if isinstance(answer, HoldAnswer) and answer.state is HoldState.HELD:
                open_holds[requests[number].key] = str(answer.hold_id), str(other.hold_id)
        taken, left = taken + sum(map(bool, together)), left + together.count(None)
        await same(books)
        keys = dice.sample(sorted(open_holds), dice.randrange(0, len(open_holds) + 1))
        overran += await settled(books, now, keys, [open_holds.pop(key) for key in keys], dice)
        await same(books)
    assert min(taken, left, overran) > 5, (taken, left, overran)


def asked(dice: random.Random, turn: int, number: int) -> HoldRequest:
    """An ask of any kind, under a new key or one that was used before."""
    once = dice.random() < 0.9
    key = f"k{turn}/{number}" if once else f"again{dice.randrange(9)}/{number}"
    tokens = dice.choice([1, 100, 300]) if once else 400
    task = [f"task:t{turn}{dice.choice('ab')}"] if once and dice.random() < 0.5 else []
    path = Path.parse(["user:u1", dice.choice(SESSIONS) if once else "session:hard", *task])
    part = Amount(1) if once and dice.random() < 0.2 else None
    priced = not once or dice.random() < 0.8
    labels = (TEAM,) if once and dice.random() < 0.3 else ()
    patient = not once or dice.random() < 0.7
    money = Amount(tokens, tokens) if priced else Amount(tokens)
    return HoldRequest(key, path, money, part, labels=labels, priced=priced, patient=patient)


async def outcome(books: Books, tenant: str, request: HoldRequest) -> Any:
    """The answer that the gate gives to one ask alone, or its error."""
    try:
        return await books.ledger._hold(tenant, request, None)
    except BudgetError as error:
        return error


def shown(answer: Any) -> tuple[Any, ...]:
    """All that an answer says, apart from the number of its hold."""
    if isinstance(answer, BudgetError):
        return (type(answer),)
    return (answer.hold_id is not None, answer.gate, answer.state, answer.amount, answer.expires_at, answer.repeated)


async def settled(
    books: Books, now: datetime, keys: Sequence[str], holds: Sequence[tuple[str, str]], dice: random.Random
) -> int:
    """Settles holds of both tenants, some with more than they hold; returns how many of the batch overran."""
    if not keys:
        return 0
    reports = [report(used, used) for _ in keys for used in [dice.choice([0, 50, 100, 450])]]
    batch = [Settle("batch", int(one), 1, given) for (one, _), given in zip(holds, reports, strict=True)]
    together = [done for done in await settle_together(books.pool, books.settings, now, batch) if done]
    assert len(together) == len(batch)
    held = "select asked_tokens, asked_nano from holds where tenant = 'alone' and hold_id = $1"
    amounts = [Amount(*row) for _, other in holds for row in await books.pool.fetch(held, int(other))]
    ranks = [_rank(given, amount) for given, amount in zip(reports, amounts, strict=True)]
    for rank in range(3):
        for (_, other), given, done, own in zip(holds, reports, together, ranks, strict=True):
            if own == rank:
                alone = await books.ledger.settle("alone", other, 1, given)
                assert replace(alone, hold_id=done.hold_id) == done
    return sum(done.overrun != Amount() for done in together)


def _rank(given: Report, held: Amount) -> int:
    """Place of a settlement in its batch: what overruns nothing, what also frees something, what frees nothing."""
    used = given.usage.total
    if used <= held.tokens and given.nano_usd <= held.nano_usd:
        return 0
    return 1 if used < held.tokens or given.nano_usd < held.nano_usd else 2


async def same(books: Books) -> None:
    """Fails unless both tenants have the same entries, holds, attempts, waiters and events."""
    for name, statement in {"entries": ENTRIES, **STORED}.items():
        batch, alone = [
            [tuple(row) for row in await books.pool.fetch(statement, tenant)] for tenant in ("batch", "alone")
        ]
        assert batch == alone, name
