"""Replays of the calls that books have made."""

from datetime import UTC, datetime
from typing import Any

from purser.budget.gate import GateAnswer
from purser.budget.policies.policy import PolicyPatch
from purser.budget.postgres.ledger.policy_sets import PolicySets
from purser.budget.postgres.reports.replay import Replays
from purser.budget.pricing.price_book import PriceBook
from purser.budget.reports.replay.calls import Recorded
from purser.budget.reports.replay.replay import Replay
from tests.support.ledger import SESSION, TENANT, Books

BEGIN = datetime(2026, 3, 28, 20, 30, tzinfo=UTC)
"""Hours before the clocks of Europe change."""
PRICES = PriceBook.load()
LEAST_OUTPUT = 5


def replays(books: Books) -> Replays:
    """Replays with the prices and the least output of these tests."""
    return Replays(books.pool, books.settings, PolicySets(books.pool, books.policies), PRICES, LEAST_OUTPUT)


async def replayed(books: Books, tenant: str, wanted: dict[str, PolicyPatch | None]) -> tuple[Replay, list[GateAnswer]]:
    """A replay since `BEGIN`, and the gate's answers to its calls in their order."""
    answers: list[GateAnswer] = []

    def note(_: Recorded, answer: GateAnswer) -> None:
        answers.append(answer)

    return await replays(books).run(tenant, wanted, BEGIN, note), answers


async def refused(books: Books, since: datetime = BEGIN, **wanted: dict[str, Any]) -> int:
    """Calls that session s1 would have been refused since a time, by limits of it by period; `none` is its own."""
    named: dict[str, PolicyPatch | None] = {
        SESSION[0] + ("" if period == "none" else f"@{period}"): PolicyPatch.parse({"mode": "hard", **fields})
        for period, fields in wanted.items()
    }
    return (await replays(books).run(TENANT, named, since)).total.refused
