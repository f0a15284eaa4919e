"""Share of tasks that end with an answer, where each may use less than a task needs on average.

Every conversation is a task; all tasks have the same hard limit, in tokens or in money. Without anything else a task
ends when a call is refused. Policies then add learned holds, a last answer and a ladder, one by one and together.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

from purser.benchmarks.holding.simulation import SETTINGS, Simulation, Tally
from purser.benchmarks.holding.sizing import Sizing
from purser.benchmarks.holding.transcripts import MODEL, RecordedCall
from purser.benchmarks.outcome import Table
from purser.benchmarks.progress import log_step
from purser.budget.actors import Actor
from purser.budget.gate import Amount
from purser.budget.policies.fields import Mode
from purser.budget.policies.policy import PolicyPatch
from purser.budget.postgres.connections.pools import Pool
from purser.budget.postgres.ledger.ledger import Ledger
from purser.budget.postgres.ledger.policies import Policies
from purser.budget.pricing.price_book import PriceBook
from purser.budget.scopes import Kind, Scope
from purser.budget.usage import Usage

SHARE = "0.6"
"""Limit of a task as a share of what a task needs on average."""
LAST_ANSWER = "0.25"
LADDER = (
    {"ratio": 0.4, "compression": 0.02},
    {"ratio": 0.5, "model": ["gpt-4o-mini"]},
    {"ratio": 0.8, "output": 512},
)
LEARNED = Sizing("quantile 0.9, topped up", Decimal("0.9"), grows=True)
WHOLE = Sizing("worst case")


@dataclass(frozen=True)
class Thrift:
    """What policies do about a limit, besides refusing."""

    name: str
    sizing: Sizing = WHOLE
    policy: tuple[tuple[str, Any], ...] = ()


THRIFTS = (
    Thrift("refuse only"),
    Thrift("learned holds", LEARNED),
    Thrift("last answer", policy=(("last_answer", LAST_ANSWER),)),
    Thrift("ladder", policy=(("ladder", LADDER),)),
    Thrift("all three", LEARNED, (("last_answer", LAST_ANSWER), ("ladder", LADDER))),
)
UNITS = ("tokens", "nano_usd")
COLUMNS = (
    "policy",
    "limit",
    "answered %",
    "by a last answer %",
    "refused",
    "calls %",
    "on the ladder",
    "beyond limits",
)


@dataclass(frozen=True)
class Answers:
    """What became of all tasks under one policy."""

    unit: str
    thrift: str
    limit: int
    tally: Tally
    gate_passed: bool

    def to_json(self) -> dict[str, Any]:
        """The result as JSON."""
        names = {"unit": self.unit, "policy": self.thrift, "limit": self.limit}
        return names | asdict(self.tally) | {"answered": self.tally.answered, "gate_passed": self.gate_passed}

    @property
    def row(self) -> tuple[str | int | float, ...]:
        """The result as a row of the table."""
        tally, unit = self.tally, "tokens" if self.unit == "tokens" else "money"
        answered, last = (100 * count / tally.conversations for count in (tally.answered, tally.last_answers))
        served = 100 * tally.served / tally.calls
        return (self.thrift, unit, answered, last, tally.refused, served, tally.eased, tally.beyond)


def table(name: str, found: Sequence[Answers]) -> Table:
    """The table of the benchmark."""
    share = Fraction(SHARE) * 100
    return Table(f"{name}, tasks that end with an answer at {share} % of what they need", COLUMNS, [
        one.row for one in found
    ])  # fmt: skip


async def answers(pool: Pool, conversations: Sequence[Sequence[RecordedCall]], thrift: Thrift, unit: str) -> Answers:
    """Runs conversations as tasks, one after the other, each on a limit of its own."""
    log_step(f"answers within limits in {unit}: {thrift.name}")
    tenant = f"answers-{unit}-{thrift.name}".replace(" ", "_")
    simulation = Simulation(pool, Ledger(pool, SETTINGS), PriceBook.load(), tenant, thrift.sizing)
    policies, tally, ok = Policies(pool, SETTINGS), simulation.tally, True
    price = simulation.prices.price(MODEL)
    needs = [
        price.cost(Usage(input=call.prompt_tokens, output=call.output)) if unit == "nano_usd" else call.used
        for calls in conversations
        for call in calls
    ]
    limit = int(Fraction(SHARE) * sum(needs) / len(conversations))
    patch = PolicyPatch.parse({f"limit_{unit}": limit, "mode": Mode.HARD} | dict(thrift.policy))
    spent = 0
    for number, calls in enumerate(conversations):
        task = Scope(Kind.TASK, f"s{number}-0")
        await policies.set(tenant, task, patch, by=Actor("bench", None))
        await simulation.group(f"s{number}", [calls])
        budget = await policies.budget(tenant, task)
        spent, ok = spent + budget.spent.tokens, ok and budget.held == Amount()
        used = budget.spent - budget.overrun
        tally.beyond += max(0, getattr(used, unit) - limit)
    return Answers(unit, thrift.name, limit, tally, gate_passed=ok and spent == tally.charged and not tally.beyond)
