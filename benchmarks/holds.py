"""Starved calls against overrun, by the size of holds: the whole output cap, the mean, learned quantiles.

Sixteen recorded conversations at a time run as parallel agents on one session whose hard limit is a share of what they
need together. Time is simulated; the ledger, the rules and the top-ups are real. Starved calls had to wait, were
refused, or come after a refused one. A last table counts the tasks that end with an answer; see `holding.answers`. It
starts its own Postgres, and audits the ledger at the end.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path as FilePath
from typing import Any

from purser.benchmarks.data import rows
from purser.benchmarks.holding.answers import THRIFTS, UNITS, Answers, answers, table
from purser.benchmarks.holding.simulation import SETTINGS, Simulation, Tally
from purser.benchmarks.holding.sizing import SIZINGS, Sizing
from purser.benchmarks.holding.transcripts import OUTPUT_CAP, RecordedCall, calls_of
from purser.benchmarks.outcome import Outcome, Table
from purser.benchmarks.postgres import temporary_postgres
from purser.benchmarks.progress import log_step
from purser.budget.actors import Actor
from purser.budget.gate import Amount
from purser.budget.policies.fields import Mode
from purser.budget.policies.policy import PolicyPatch
from purser.budget.postgres.audit.audit import audit
from purser.budget.postgres.connections.pools import Pool, create_pool
from purser.budget.postgres.ledger.ledger import Ledger
from purser.budget.postgres.ledger.policies import Policies
from purser.budget.pricing.price_book import PriceBook
from purser.budget.scopes import Kind, Scope
from purser.compose.signals import cancelled_once

Conversation = Sequence[RecordedCall]
SETS = ("tau_airline", "whowhen", "xpersona")
"""Tool calls under a long prompt, several agents with long replies, short chats."""
PARALLEL = 16
MOST_CONVERSATIONS = 48
SHARES = ("1.0", "0.6")
"""Limit of a session as a share of what its conversations need."""


@dataclass(frozen=True)
class Point:
    """One point of the curve."""

    set: str
    share: str
    sizing: str
    tally: Tally
    gate_passed: bool

    @property
    def starved(self) -> int:
        """Calls that waited, were refused, or were never made because of a refusal."""
        return self.tally.waited + self.tally.calls - self.tally.served

    def to_json(self) -> dict[str, Any]:
        """The point as JSON."""
        names = {"set": self.set, "share": self.share, "sizing": self.sizing}
        return names | asdict(self.tally) | {"starved": self.starved, "gate_passed": self.gate_passed}

    @property
    def row(self) -> tuple[str | int | float, ...]:
        """The point as a row of a table."""
        tally = self.tally
        return (
            self.sizing, 100 * self.starved / tally.calls, tally.waited, tally.refused, tally.cut, tally.topped_up,
            tally.overrun, tally.beyond, 100 * tally.finished / tally.conversations,
        )  # fmt: skip


COLUMNS = (
    "hold", "starved %", "waited", "refused", "cut", "topped up", "overrun tokens", "beyond limits", "finished %",
)  # fmt: skip


def run(data: FilePath | None) -> Outcome:
    """Runs the benchmark on the conversations in the folder `data`."""
    found = {name: [list(calls_of(row)) for row in rows(data, name)[:MOST_CONVERSATIONS]] for name in SETS}
    points, ends, agrees = asyncio.run(cancelled_once(_measured(found)))
    return Outcome(
        gate_passed=agrees and all(one.gate_passed for one in points) and all(one.gate_passed for one in ends),
        results={"curve": [point.to_json() for point in points], "answers": [one.to_json() for one in ends]},
        settings={"parallel": PARALLEL, "conversations": MOST_CONVERSATIONS, "output_cap": OUTPUT_CAP},
        tables=[
            Table(
                f"{name}, {Fraction(share) * 100} % of what the conversations need",
                COLUMNS,
                [point.row for point in points if (point.set, point.share) == (name, share)],
            )
            for name in SETS
            for share in SHARES
        ]
        + [table(SETS[0], ends)],
    )


async def _measured(found: dict[str, list[list[RecordedCall]]]) -> tuple[list[Point], list[Answers], bool]:
    """The points, the ends of tasks, and whether the ledger agrees with itself."""
    async with temporary_postgres() as dsn, await create_pool(dsn) as pool:
        points = [
            await measure(pool, name, conversations, share, sizing)
            for name, conversations in found.items()
            for share in SHARES
            for sizing in SIZINGS
        ]
        ends = [await answers(pool, found[SETS[0]], thrift, unit) for unit in UNITS for thrift in THRIFTS]
        return points, ends, (await audit(pool)).ok


async def measure(pool: Pool, name: str, conversations: Sequence[Conversation], share: str, sizing: Sizing) -> Point:
    """Runs conversations in groups under one sizing; each set, share and sizing has a tenant of its own."""
    log_step(f"{name}, {Fraction(share) * 100} % of the need, {sizing.name}")
    tenant = f"{name}-{share}-{sizing.name}".replace(" ", "_").replace(",", "")
    simulation = Simulation(pool, Ledger(pool, SETTINGS), PriceBook.load(), tenant, sizing)
    policies, tally, spent, held = Policies(pool, SETTINGS), simulation.tally, 0, Amount()
    for start in range(0, len(conversations), PARALLEL):
        group = conversations[start : start + PARALLEL]
        limit = int(Fraction(share) * sum(call.used for calls in group for call in calls))
        scope = Scope(Kind.SESSION, f"s{start}")
        patch = PolicyPatch(limit_tokens=limit, mode=Mode.HARD)
        await policies.set(tenant, scope, patch, by=Actor("bench", None))
        await simulation.group(scope.id, group)
        budget = await policies.budget(tenant, scope)
        spent, held = spent + budget.spent.tokens, held + budget.held
        tally.beyond += max(0, budget.spent.tokens - limit)
    return Point(name, share, sizing.name, tally, gate_passed=spent == tally.charged and held == Amount())
