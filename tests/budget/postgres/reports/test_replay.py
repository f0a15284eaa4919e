"""Replays answer recorded calls as the gate does when the same calls are made under the replayed policies."""

import os
import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import pytest

from purser.budget.climbs import NO_STEPS
from purser.budget.gate import Amount, GateAnswer, Verdict
from purser.budget.holds import HoldAnswer, HoldRequest, Report
from purser.budget.policies.fields import Mode
from purser.budget.policies.policy import Policy, PolicyPatch
from purser.budget.postgres.connections.pools import Pool, connected
from purser.budget.postgres.ledger.policy_sets import PolicySets
from purser.budget.postgres.reports.replay import Replays
from purser.budget.pricing.call_prices import charge, quote
from purser.budget.pricing.price_book import PriceBook
from purser.budget.reports.replay import Replay
from purser.budget.reports.replayed_calls import Recorded
from purser.budget.scopes import Kind, Path, Scope
from purser.budget.usage import Usage
from tests.support.actors import TESTER
from tests.support.ledger import SESSION, TENANT, Books, report
from tests.support.runs.proof import sized

BEGIN = datetime(2026, 3, 28, 20, 30, tzinfo=UTC)
"""Hours before the clocks of Europe change."""
NAMES = (
    "user:u1", "session:s1", "session:*", "session:s*", "task:t1", "task:*", "agent:*/a", "agent:t2/b", "tag:team=*",
    "tag:team=b", "session:s1@day", "session:*@5h", "session:s*@hour", "task:t1@week", "user:*@hour", "tag:team=*@1d",
    "tag:team=a@day", "model:gpt-4o", "model:*", "model:gpt-4o-mini", "model:gpt-4.1-nano@day", "model:gpt-4*@1h",
)  # fmt: skip
PRICES = PriceBook.load()
UNPRICED_MODEL = "own/model"
CHEAPER = ("gpt-4o-mini", "gpt-4.1-nano", UNPRICED_MODEL, "gpt-4")
LEAST_OUTPUT = 5
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


def replays(books: Books) -> Replays:
    return Replays(books.pool, books.settings, PolicySets(books.pool, books.policies), PRICES, LEAST_OUTPUT)


async def replayed(books: Books, tenant: str, wanted: dict[str, PolicyPatch | None]) -> tuple[Replay, list[GateAnswer]]:
    answers: list[GateAnswer] = []

    def note(_: Recorded, answer: GateAnswer) -> None:
        answers.append(answer)

    return await replays(books).run(tenant, wanted, BEGIN, note), answers


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
        if seed + 1 - start >= sized(8, 200) and {"refused", "delayed", "eased"} <= seen:
            break


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


async def test_the_table_sums_what_is_saved_by_scope(pool: Pool) -> None:
    books = Books.on(pool)
    for number in range(4):
        await books.spend(f"k{number}", 50, 500, SESSION[0], f"task:t{number % 2}")
    wanted: dict[str, PolicyPatch | None] = {
        SESSION[0]: PolicyPatch.parse({"limit_tokens": 120, "mode": "hard", "backpressure": [["0.8", 100]]})
    }
    replay, _ = await replayed(books, TENANT, wanted)
    (line,) = replay.lines.values()
    assert line.to_json() == replay.total.to_json() == {
        "refused": 2, "asked": 0, "waited": 0, "tasks_stopped": 2, "delayed": 1, "delay_ms": 100,
        "saved_tokens": 100, "saved_nano_usd": 1_000, "eased": 0, "eased_tokens": 0, "eased_nano_usd": 0,
    }  # fmt: skip
    assert (await replayed(books, TENANT, {}))[0].total.refused == 0
    await books.check()


async def test_what_was_spent_before_the_replay_counts(pool: Pool) -> None:
    books = Books.on(pool)
    for hour, window in enumerate(("lifetime", "day", "5h", "hour")):
        books.at(BEGIN - timedelta(hours=hour % 3 and 1))
        await books.spend(f"before {window}", 90, 0, f"session:{window}")
        books.at(BEGIN + timedelta(minutes=1))
        await books.spend(f"in {window}", 20, 0, f"session:{window}")
    wanted: dict[str, PolicyPatch | None] = {
        f"session:{window}": PolicyPatch.parse({"limit_tokens": 100, "mode": "hard", "window": window})
        for window in ("lifetime", "day", "5h", "hour")
    }
    answers: dict[str, Verdict] = {}

    def note(one: Recorded, answer: GateAnswer) -> None:
        answers[one.path[0].id] = answer.verdict

    await replays(books).run(TENANT, wanted, BEGIN + timedelta(seconds=30), note)
    assert answers == {
        "lifetime": Verdict.REFUSE, "day": Verdict.REFUSE, "5h": Verdict.REFUSE, "hour": Verdict.REFUSE,
    }  # fmt: skip


async def test_what_tasks_requested_and_what_is_stored_applies_where_the_file_names_nothing(pool: Pool) -> None:
    books = Books.on(pool)
    await books.spend("k1", 50, 0, SESSION[0], "task:t1")
    await books.spend("k2", 50, 0, SESSION[0], "task:t1")
    await books.budget("task:t1", task="t1", limit_tokens=60, mode="hard")
    assert (await replayed(books, TENANT, {}))[0].total.refused == 1
    await books.budget(SESSION[0], limit_tokens=10, mode="hard")
    assert (await replayed(books, TENANT, {}))[0].total.refused == 2
    assert (await replayed(books, TENANT, {SESSION[0]: None}))[0].total.refused == 1


async def test_grants_of_the_history_count(pool: Pool) -> None:
    books = Books.on(pool)
    await books.spend("k1", 50)
    await books.grant(SESSION[0], 100)
    await books.spend("k2", 50)
    wanted: dict[str, PolicyPatch | None] = {SESSION[0]: PolicyPatch.parse({"limit_tokens": 20, "mode": "hard"})}
    assert (await replayed(books, TENANT, wanted))[0].total.refused == 1


async def test_an_addition_that_does_not_fit_is_not_held(pool: Pool) -> None:
    books = Books.on(pool)
    first = await books.hold("k1", 50)
    await books.ledger.extend(TENANT, first, Amount(60))
    await books.hold("k2", 40)
    await books.settle(first, 110)
    await books.hold("k3", 1)
    wanted: dict[str, PolicyPatch | None] = {SESSION[0]: PolicyPatch.parse({"limit_tokens": 100, "mode": "hard"})}
    replay, answers = await replayed(books, TENANT, wanted)
    assert [answer.verdict for answer in answers] == [Verdict.ALLOW, Verdict.WARN, Verdict.REFUSE]
    assert replay.total.refused == 1


async def test_a_call_that_waits_is_charged_and_holds_nothing(pool: Pool) -> None:
    books = Books.on(pool)
    first, second = await books.hold("k1", 50), await books.hold("k2", 60)
    await books.settle(first, 10)
    await books.hold("k3", 70)
    await books.settle(second, 60)
    await books.hold("k4", 90)
    wanted: dict[str, PolicyPatch | None] = {SESSION[0]: PolicyPatch.parse({"limit_tokens": 100, "mode": "hard"})}
    _, answers = await replayed(books, TENANT, wanted)
    assert [answer.verdict for answer in answers] == [Verdict.ALLOW, Verdict.WAIT, Verdict.WARN, Verdict.REFUSE]


async def test_a_call_without_a_price_needs_one_where_the_policies_limit_money(pool: Pool) -> None:
    books = Books.on(pool)
    hold_id = await books.hold("k1", 50, priced=False)
    await books.ledger.settle(TENANT, hold_id, 1, Report(Usage(input=50), 0, priced=False))
    wanted: dict[str, PolicyPatch | None] = {SESSION[0]: PolicyPatch.parse({"limit_nano_usd": 10**9})}
    _, answers = await replayed(books, TENANT, wanted)
    assert [answer.unpriced for answer in answers] == [True]


async def refused(books: Books, since: datetime = BEGIN, **wanted: dict[str, Any]) -> int:
    """Calls that session s1 would have been refused since a time, by limits of it by period; `none` is its own."""
    named: dict[str, PolicyPatch | None] = {
        SESSION[0] + ("" if period == "none" else f"@{period}"): PolicyPatch.parse({"mode": "hard", **fields})
        for period, fields in wanted.items()
    }
    return (await replays(books).run(TENANT, named, since)).total.refused


async def test_what_was_spent_before_the_replay_counts_for_further_limits_but_grants_of_others_do_not(
    pool: Pool,
) -> None:
    books = Books.on(pool)
    books.at(BEGIN)
    await books.spend("before", 90)
    await books.grant(SESSION[0], 500)
    since = BEGIN + timedelta(seconds=30)
    books.at(BEGIN + timedelta(minutes=1))
    await books.spend("in", 20)
    for period in ("day", "5h", "lifetime"):
        assert await refused(books, since, **{period: {"limit_tokens": 109}}) == 1
        assert await refused(books, since, **{period: {"limit_tokens": 110}}) == 0
    await books.budget(f"{SESSION[0]}@day", limit_tokens=109)
    books.at(BEGIN + timedelta(minutes=2))
    await books.spend("first of a further limit", 1)
    await books.grant(f"{SESSION[0]}@day", 50)
    since = BEGIN + timedelta(minutes=3)
    books.at(since)
    await books.spend("last", 1)
    assert await refused(books, since, day={"limit_tokens": 61}) == 1
    assert await refused(books, since, day={"limit_tokens": 62}) == 0


async def test_a_replay_decides_anew_what_rolls_over(pool: Pool) -> None:
    books = Books.on(pool)
    daily: dict[str, Any] = {"limit_tokens": 100, "mode": "hard", "window": "day", "rollover": "0.5"}
    await books.budget(SESSION[0], **daily)
    for day, tokens in enumerate((10, 120, 130, 100)):
        books.at(BEGIN + timedelta(days=day))
        await books.spend(f"k{day}", tokens)
    assert await refused(books, none=daily) == 0
    assert await refused(books, none=daily | {"rollover": "0.4"}) == 1
    assert await refused(books, none={**daily, "rollover": None}) == 2


@pytest.mark.parametrize(("pause_days", "spent", "left"), [(1, 80, 20), (1, 30, 50), (3, 99, 50)])
async def test_the_window_before_the_replay_rolls_over_into_its_first(
    pool: Pool, pause_days: int, spent: int, left: int
) -> None:
    books = Books.on(pool)
    books.at(BEGIN)
    await books.spend("before", spent)
    since = BEGIN + timedelta(days=pause_days)
    books.at(since + timedelta(minutes=1))
    await books.spend("in", 100 + left)
    limits: dict[str, Any] = {"limit_tokens": 100, "rollover": "0.5"}
    for period, window in (("none", {"window": "day"}), ("day", {})):
        assert await refused(books, since, **{period: limits | window}) == 0
        assert await refused(books, since, **{period: limits | window | {"limit_tokens": 99}}) == 1


async def test_a_lower_limit_that_a_task_requested_leaves_less(pool: Pool) -> None:
    books = Books.on(pool)
    books.at(BEGIN)
    await books.spend("k1", 10, 0, SESSION[0], "task:t1")
    await books.budget(SESSION[0], task="t1", limit_tokens=40, mode="hard")
    books.at(BEGIN + timedelta(days=1))
    await books.spend("k2", 130, 0, SESSION[0])
    daily = {"limit_tokens": 100, "window": "day", "rollover": "0.5"}
    assert await refused(books, none=daily) == 0
    assert await refused(books, none=daily | {"limit_tokens": 99}) == 1
    assert await refused(books, none=daily | {"rollover": "0.2"}) == 1
    books.at(BEGIN + timedelta(days=1, minutes=1))
    await books.spend("k3", 1, 0, SESSION[0])
    assert await refused(books, none=daily) == 1


async def test_a_further_limit_has_no_default_limits(pool: Pool) -> None:
    defaults = {kind: Policy() for kind in Kind} | {Kind.SESSION: Policy(limit_tokens=10, mode=Mode.HARD)}
    books = Books.on(pool, defaults=defaults)
    await books.budget(SESSION[0], limit_tokens=100)
    await books.spend("k1", 50)
    assert await refused(books, day={"limit_nano_usd": 1_000}) == 0
    assert await refused(books, day={"limit_tokens": 49}) == 1


CALL = ("session:s1", "task:t1")
LADDER = [
    {"ratio": "0.5", "model": ["gpt-4o-mini"]},
    {"ratio": "0.8", "output": 20},
    {"ratio": "0.9", "compression": 0.5},
]


async def served(books: Books, key: str, model: str | None, prompt: int, cap: int, output: int) -> None:
    """A call that was made, with its output cap and what it used of it."""
    quoted = quote(PRICES, model, Usage(input=prompt, output=cap))
    hold_id = await books.hold(key, quoted.full.tokens, quoted.full.nano_usd, *CALL, model=model, priced=quoted.priced)
    await books.ledger.settle(TENANT, hold_id, 1, charge(PRICES, model, Usage(input=prompt, output=output), 0))


async def test_calls_take_the_steps_of_a_ladder_and_each_step_shows_what_it_saves(pool: Pool) -> None:
    books = Books.on(pool)
    for number in range(4):
        await served(books, f"k{number}", "gpt-4o", 100, 100, 60)
    await served(books, "no model", None, 10, 10, 5)
    await books.hold("open", 10, 0, *CALL, model="gpt-4o")
    wanted: dict[str, PolicyPatch | None] = {
        SESSION[0]: PolicyPatch.parse({"limit_tokens": 610, "mode": "hard", "ladder": LADDER, "backpressure": []})
    }
    replay, answers = await replayed(books, TENANT, wanted)
    assert [answer.amount and answer.amount.tokens for answer in answers] == [200, 200, 120, 120, 20, 10]
    usual, cheaper = PRICES.price("gpt-4o"), PRICES.price("gpt-4o-mini")
    cost = usual.cost(Usage(input=100, output=60))
    halved = cost - cheaper.cost(Usage(input=100, output=60))
    cut = cost - cheaper.cost(Usage(input=100, output=20))
    total = replay.total.to_json()
    assert (total["refused"], total["eased"], total["eased_tokens"], total["eased_nano_usd"]) == (
        0, 3, 80, halved + 2 * cut,
    )  # fmt: skip
    assert replay.lines[Scope.parse(SESSION[0])].ladder_json() == [
        {"step": 1, "ratio": 0.5, "calls": 1, "unknown": 0, "saved_tokens": 0, "saved_nano_usd": halved},
        {"step": 2, "ratio": 0.8, "calls": 1, "unknown": 0, "saved_tokens": 40, "saved_nano_usd": cut},
        {"step": 3, "ratio": 0.9, "calls": 1, "unknown": 2, "saved_tokens": 40, "saved_nano_usd": cut},
    ]


async def test_embeddings_and_tools_take_no_steps(pool: Pool) -> None:
    books = Books.on(pool)
    await served(books, "vectors", "gpt-4o", 100, 0, 0)
    await books.hold("tool", 0, 50, *CALL, labels=(Scope.parse("tool:search"),))
    wanted: dict[str, PolicyPatch | None] = {SESSION[0]: PolicyPatch.parse({"limit_tokens": 100, "ladder": LADDER})}
    replay, _ = await replayed(books, TENANT, wanted)
    assert replay.total.eased == 0
    assert not any(line.steps for line in replay.lines.values())
