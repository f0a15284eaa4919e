"""Replays answer recorded calls as the gate does when the same calls are made under the replayed policies."""

import os
import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import count
from typing import Any

import pytest

from purser.budget.climbs import NO_STEPS
from purser.budget.gate import Amount, GateAnswer
from purser.budget.holds import HoldAnswer, HoldRequest, Report
from purser.budget.policies.policy import PolicyPatch
from purser.budget.postgres.connections.pools import Pool, connected
from purser.budget.postgres.ledger.policy_sets import PolicySets
from purser.budget.pricing.call_prices import charge, quote
from purser.budget.reports.replay.replay import Replay
from purser.budget.scopes import Path, Scope
from purser.budget.usage import Usage
from tests.budget.postgres.audit.history import History
from tests.support.actors import TESTER
from tests.support.budgets.replays import BEGIN, LEAST_OUTPUT, PRICES, replayed, replays
from tests.support.ledger import TENANT, Books, report
from tests.support.runs.proof import sized

NAMES = (
    "user:u1", "session:s1", "session:*", "session:s*", "task:t1", "task:*", "agent:*/a", "agent:t2/b", "tag:team=*",
    "tag:team=b", "session:s1@day", "session:*@5h", "session:s*@hour", "task:t1@week", "user:*@hour", "tag:team=*@1d",
    "tag:team=a@day", "model:gpt-4o", "model:*", "model:gpt-4o-mini", "model:gpt-4.1-nano@day", "model:gpt-4*@1h",
)  # fmt: skip
UNPRICED_MODEL = "own/model"
CHEAPER = ("gpt-4o-mini", "gpt-4.1-nano", UNPRICED_MODEL, "gpt-4")
WINDOWS = ("lifetime", "hour", "day", "week", "1h", "5h", "1d")


@dataclass(frozen=True)
class Made:
    """A call, and how it ends: with a charge, or without one (-1)."""

    key: str
    at: datetime
    path: tuple[str, ...]
    label: str
    ask: Amount
    charge: int
    model: str | None = None
    prompt: int = 0
    """Of a call with a model: its input tokens."""


def calls(chance: random.Random, count: int, pause_min: int) -> list[Made]:
    """Calls of a few tasks, one after the other."""
    found, at = [], BEGIN
    for number in range(count):
        at += timedelta(minutes=chance.randint(0, pause_min), seconds=chance.randint(1, 59))
        session, task = chance.choice(["s1", "s2", "x"]), chance.choice(["t1", "t2", "t3"])
        path = ("user:u1", f"session:{session}", f"task:{task}", f"agent:{task}/{chance.choice('ab')}")
        tokens = chance.randint(1, 120)
        charge = chance.choice([tokens, chance.randint(0, tokens), tokens + 30, -1, tokens])
        label, ask = f"tag:team={chance.choice('ab')}", Amount(tokens, chance.choice([0, tokens * 10]))
        # What the ledger does not know takes no steps in a replay: models without a report, reports without a model.
        model = chance.choice([None, "gpt-4o", "gpt-4o", "gpt-4.1-nano", UNPRICED_MODEL]) if charge > 0 else None
        prompt = chance.randint(0, max(0, min(tokens, charge)))
        found.append(Made(f"k{number}", at, path[: chance.randint(1, 4)], label, ask, charge, model, prompt))
    return found


def ladder(chance: random.Random) -> list[dict[str, Any]]:
    """A few steps."""
    steps = []
    for ratio in chance.sample(["0.1", "0.3", "0.5", "0.8", "1.1"], chance.randint(1, 3)):
        step = {"model": chance.sample(CHEAPER, 2), "output": chance.choice(["0.5", 20]), "compression": "0.5"}
        chosen = chance.sample(sorted(step), chance.randint(1, 3))
        steps.append({"ratio": ratio} | {name: step[name] for name in chosen})
    return steps


def proposals(chance: random.Random, most: int) -> dict[str, PolicyPatch | None]:
    """A few policies and templates; limits are up to `most` tokens."""
    found: dict[str, PolicyPatch | None] = {}
    for name in chance.sample(NAMES, chance.randint(1, 7)):
        fields: dict[str, Any] = {
            "limit_tokens": chance.randint(0, most),
            "limit_nano_usd": chance.randint(0, most * chance.choice([10, 3_000])),
            "mode": chance.choice(["hard", "approval", "soft"]),
            "window": chance.choice(WINDOWS),
            "timezone": chance.choice(["UTC", "Europe/Berlin"]),
            "warn_at": ["0.5"],
            "backpressure": [["0.4", 100], ["0.9", 700]],
            "frozen": chance.random() < 0.1,
            "shadow": chance.random() < 0.3,
            "rollover": chance.choice(["0.1", "0.5", "1"]),
            "ladder": ladder(chance),
        }
        if "@" in name:
            del fields["window"]
        chosen = chance.sample(sorted(fields), chance.randint(2, len(fields)))
        found[name] = PolicyPatch.parse({one: fields[one] for one in chosen})
    return found


async def make(books: Books, tenant: str, made: Sequence[Made]) -> dict[str, GateAnswer]:
    """Makes calls one after the other; returns the gate's answers by key."""
    answers = {}
    for one in made:
        books.at(one.at)
        answer, cost = await (ask(books, tenant, one) if one.model is None else climb(books, tenant, one, one.model))
        answers[one.key] = answer.gate
        if answer.hold_id is None:
            continue
        books.at(one.at + timedelta(seconds=1))
        if one.charge < 0:
            await books.ledger.release(tenant, hold_id=answer.hold_id)
        else:
            await books.ledger.settle(tenant, answer.hold_id, 1, cost)
    books.at(None)
    return answers


async def ask(books: Books, tenant: str, one: Made) -> tuple[HoldAnswer, Report]:
    """Asks for a call without a model; returns the answer, and what the call costs."""
    request = HoldRequest(one.key, Path.parse(one.path), one.ask, labels=(Scope.parse(one.label),))
    return await books.ledger.hold(tenant, request), report(max(0, one.charge), max(0, one.charge) * 9)


async def climb(books: Books, tenant: str, one: Made, own: str) -> tuple[HoldAnswer, Report]:
    """Asks for a call of a model on all steps that its ask reaches; returns the answer, and what the call costs."""
    declared, taken = one.ask.tokens - one.prompt, NO_STEPS
    while True:
        model, cap = taken.model or own, taken.output_cap(declared, LEAST_OUTPUT)
        usage = Usage(input=one.prompt, output=cap)
        quoted = quote(PRICES, model, usage)
        request = HoldRequest(
            one.key, Path.parse(one.path), quoted.full, model=model, labels=(Scope.parse(one.label),),
            priced=quoted.priced,
        )  # fmt: skip
        async with connected(books.pool, None) as connection:
            transaction = connection.transaction()
            await transaction.start()
            answer = await books.ledger.hold(tenant, request, connection)
            if not (declared and taken.lacks(answer.gate)):
                await transaction.commit()
                output = one.charge - one.prompt
                used = Usage(input=one.prompt, output=min(output, cap) if cap < declared else output)
                return answer, charge(PRICES, model, used, 0)
            await transaction.rollback()
        taken = taken.after(answer.gate, usage, own, PRICES, CHEAPER)


async def compare(books: Books, made: Sequence[Made], wanted: dict[str, PolicyPatch | None], seed: str) -> Replay:
    """Makes calls without limits and under `wanted`, and replays the former under `wanted`."""
    recorded, applied = f"recorded-{seed}", f"applied-{seed}"
    await make(books, recorded, made)
    await PolicySets(books.pool, books.policies).apply(applied, wanted, by=TESTER)
    expected = await make(books, applied, made)
    replay, found = await replayed(books, recorded, wanted)
    for one, answer in zip(made, found, strict=True):
        assert answer == expected[one.key], (f"seed of the history: {seed}", one)
    return replay


async def test_a_replay_answers_what_the_gate_answers_under_the_same_policies(pool: Pool) -> None:
    books, seen = Books.on(pool), set()
    start = random.Random(os.environ.get("PURSER_TEST_SEED")).randrange(10**6)
    for seed in count(start):
        chance = random.Random(seed)
        made = calls(chance, 25, chance.choice([2, 40, 300]))
        replay = await compare(books, made, proposals(chance, chance.choice([300, 1_500])), str(seed))
        seen |= {name for name in ("refused", "asked", "waited", "delayed", "eased") if getattr(replay.total, name)}
        # A few histories may happen to fit: then there are more of them.
        if seed + 1 - start >= sized(4, 200) and {"refused", "delayed", "eased"} <= seen:
            break


async def test_a_replay_from_any_time_under_the_same_policies_admits_what_the_gate_admitted(
    pool: Pool, seed: int
) -> None:
    history, dice = await History.begin(pool, seed), random.Random(seed)
    await history.go_on(150)
    times = [row["at"] for row in await pool.fetch("select distinct at from journal order by at")]
    for since in (times[0], *dice.sample(times, 4)):
        stopped = (await replays(history.books).run(TENANT, {}, since)).total
        assert stopped.refused + stopped.asked + stopped.waited == 0, (since, stopped)


@pytest.mark.proof
async def test_ten_thousand_recorded_calls_replay_as_the_gate_decides_them(pool: Pool) -> None:
    books = Books.on(pool)
    chance = random.Random(os.environ.get("PURSER_TEST_SEED"))
    wanted: dict[str, PolicyPatch | None] = {
        name: PolicyPatch.parse({"mode": "hard", **fields})
        for name, fields in {
            "session:*": {"limit_tokens": 600, "window": "day"},
            "session:s1": {"limit_nano_usd": 30_000, "window": "5h"},
            "task:t1": {"limit_tokens": 500, "window": "1d", "mode": "approval"},
            "agent:*/a": {"limit_tokens": 200, "window": "hour", "timezone": "Europe/Berlin"},
            "tag:team=b": {"limit_tokens": 50_000, "window": "week"},
        }.items()
    }
    made = calls(chance, sized(100, 10_000), 10)
    replay = await compare(books, made, wanted, "proof")
    assert replay.calls == len(made)
    assert replay.total.refused + replay.total.asked or len(made) < 10_000, "short histories may fit"
