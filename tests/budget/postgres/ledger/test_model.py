"""Hundreds of random steps: after each, the ledger equals a model of a few lines."""

import random
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from purser.budget.errors import AttemptConflict, HoldClosed
from purser.budget.gate import Amount
from tests.support.ledger import TENANT, Books
from tests.support.runs.proof import sized

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
LIMITS = {"session:s1": 14_000, "task:t1": 8_000, "task:t2": None}
PATHS = (("session:s1", "task:t1"), ("session:s1", "task:t2"), ("task:t2",))
PRICE = 3
"""Nano-dollars a token, so that money moves as tokens do."""


@dataclass
class Hold:
    """What the model knows of one hold, in tokens."""

    path: tuple[str, ...]
    asked: int
    held: int
    state: str = "held"
    charges: list[int] = field(default_factory=list)
    """By attempt; a silent one has none yet."""
    states: list[str] = field(default_factory=list)
    """By attempt: `started`, `presumed` or `reported`."""
    overrun: int = 0

    def presume(self) -> None:
        if "started" in self.states:
            silent = self.states.index("started")
            self.states[silent], self.charges[silent], self.held = "presumed", self.held, 0


class Model:
    """The rules of design section 3, without a database."""

    def __init__(self) -> None:
        self.holds: dict[str, Hold] = {}

    def balance(self, scope: str) -> dict[str, int]:
        on = [hold for hold in self.holds.values() if scope in hold.path]
        sums = {
            "spent": sum(sum(hold.charges) for hold in on),
            "held": sum(hold.held for hold in on),
            "overrun": sum(hold.overrun for hold in on),
        }
        return {name: total for name, total in sums.items() if total}

    def fits(self, path: tuple[str, ...], more: int) -> bool:
        for scope in path:
            limit, taken = LIMITS[scope], self.balance(scope)
            if more and limit is not None and taken.get("spent", 0) + taken.get("held", 0) + more > limit:
                return False
        return True

    def start(self, hold: Hold, attempt: int) -> str:
        if hold.state != "held":
            return "closed"
        if attempt <= len(hold.states) and hold.states[attempt - 1] == "started":
            return "started"
        if attempt != len(hold.states) + 1:
            return "conflict"
        hold.presume()
        lack = max(0, hold.asked - hold.held)
        if lack and not self.fits(hold.path, lack):
            return "short"
        hold.held += lack
        hold.states.append("started")
        hold.charges.append(0)
        return "started"

    def settle(self, hold: Hold, attempt: int, tokens: int, keep: bool) -> str:
        if attempt <= len(hold.states) and hold.states[attempt - 1] == "reported":
            return "repeat" if hold.charges[attempt - 1] == tokens else "conflict"
        if attempt > len(hold.states) + 1:
            return "conflict"
        if attempt > len(hold.states):
            hold.presume()
            hold.states.append("started")
            hold.charges.append(0)
        late = hold.state != "held" or hold.states[attempt - 1] == "presumed"
        covered = hold.charges[attempt - 1] if late else hold.held
        hold.overrun += max(0, tokens - covered)
        hold.states[attempt - 1], hold.charges[attempt - 1] = "reported", tokens
        if not late:
            hold.held = max(0, hold.held - tokens) if keep else 0
            hold.state = "held" if keep else "settled"
        return "late" if late else "settled"

    def close(self, hold: Hold, state: str) -> None:
        if hold.state == "held":
            hold.presume()
            hold.held, hold.state = 0, state


async def test_the_ledger_equals_the_model_after_every_step(books: Books, seed: int) -> None:
    dice, model, now, outcomes = random.Random(seed), Model(), NOW, Counter[str]()
    for scope, limit in LIMITS.items():
        await books.budget(scope, limit_tokens=limit, mode="hard")
    for turn in range(sized(200, 500)):
        now += timedelta(seconds=dice.randint(0, 20))
        books.at(now)
        key = dice.choice(list(model.holds)[-6:]) if turn > 6 else ""
        verb = dice.choice(["hold", "start", "start", "settle", "settle", "keep", "release", "extend", "sweep"])
        if verb == "hold" or not key:
            outcome = await hold(books, model, f"k{turn}", dice)
        elif verb == "sweep":
            outcome = f"swept {min(1, await sweep(books, model))}"
        else:
            outcome = await step(books, model, key, verb, dice)
        outcomes[f"{verb} {outcome}"] += 1
        for scope in LIMITS:
            expected = model.balance(scope)
            assert await books.balance(scope) == expected, (turn, verb, key, scope)
            assert await books.money(scope) == {name: PRICE * tokens for name, tokens in expected.items()}
    states = {row["key"]: row["state"] for row in await books.pool.fetch("select key, state from holds")}
    assert states == {key: hold.state for key, hold in model.holds.items()}
    assert len(outcomes) >= 15, outcomes


async def hold(books: Books, model: Model, key: str, dice: random.Random) -> str:
    path, tokens = dice.choice(PATHS), dice.randint(1, 900)
    fits = model.fits(path, tokens)
    answer = await books.ask(key, tokens, PRICE * tokens, *path, patient=False)
    assert (answer.hold_id is not None) is fits
    model.holds[key] = Hold(path, tokens, tokens) if fits else Hold(path, tokens, 0, "none")
    return answer.state


async def sweep(books: Books, model: Model) -> int:
    expired = await books.ledger.sweep()
    rows = await books.pool.fetch("select key from holds where state = 'expired'")
    new = [model.holds[row["key"]] for row in rows if model.holds[row["key"]].state == "held"]
    assert len(new) == expired
    for hold in new:
        model.close(hold, "expired")
    return expired


async def step(books: Books, model: Model, key: str, verb: str, dice: random.Random) -> str:
    """One verb on one hold, by the ledger and by the model; both must say the same."""
    known = model.holds[key]
    if known.state == "none":
        return "nothing to do"
    hold_id = str(await books.pool.fetchval("select hold_id from holds where key = $1", key))
    attempt, tokens = (
        dice.randint(1, len(known.states) + 2),
        dice.choice([0, 50, known.asked, dice.randint(0, 1_500)]),
    )
    try:
        if verb == "start":
            expected = model.start(known, attempt)
            found = "started" if (await books.ledger.start_attempt(TENANT, hold_id, attempt)).started else "short"
        elif verb in ("settle", "keep"):
            expected = model.settle(known, attempt, tokens, verb == "keep")
            done = await books.settle(hold_id, tokens, PRICE * tokens, attempt, keep_open=verb == "keep")
            found = expected if expected == "repeat" else "late" if done.late else "settled"
            assert done.state == known.state
        elif verb == "release":
            model.close(known, "released")
            expected = known.state
            found = (await books.ledger.release(TENANT, key=key)).state
        else:
            expected = "closed" if known.state != "held" else "extended" if model.fits(known.path, tokens) else "short"
            known.held += tokens if expected == "extended" else 0
            extended = (await books.ledger.extend(TENANT, hold_id, Amount(tokens, PRICE * tokens))).extended
            found = "extended" if extended else "short"
    except HoldClosed:
        found = "closed"
    except AttemptConflict:
        found = "conflict"
    assert found == expected, (key, verb, attempt, tokens)
    return found
