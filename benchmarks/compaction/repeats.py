"""Repeated compression: how much of what was planted survives when the model itself remembers nothing.

Messages with facts are drawn from real conversations and inserted between messages without facts. Half of them are
pinned. The session is stored and compressed by the product itself, with a provider over HTTP that answers each request
for a summary with the same sentence.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from purser.activities.compression.summarizer import Summarizer
from purser.activities.models.provider import ModelProvider
from purser.benchmarks.compaction.conversations import messages_of
from purser.benchmarks.compaction.product import TENANT, ProductSession
from purser.benchmarks.data import Row, optional_rows, rows
from purser.benchmarks.outcome import Table
from purser.budget.policies.policy import Policy
from purser.budget.postgres.connections.pools import Pool
from purser.budget.postgres.ledger.ledger import Ledger
from purser.budget.postgres.ledger.settings import LedgerSettings
from purser.budget.pricing.price_book import PriceBook
from purser.budget.scopes import Kind
from purser.compose.demo.provider import Provider, Reply, Rule, serve_provider
from purser.context.conversation.messages import Message, StoredMessage
from purser.context.facts import extract_facts
from purser.context.postgres.conversation.facts import Facts
from purser.context.postgres.conversation.placeholders import Placeholders
from purser.context.strategies import StrategyName

SENTENCE = "They talked about their plans and agreed to go on."
"""The model's reply to every request for a summary."""
SESSIONS = 4
"""Sessions, each with messages of its own: of one alone 39 to 74 % of the facts are left, as it is drawn."""
COMPRESSIONS = 10
PLANTED = 30
"""Planted messages per half, drawn equally from both collections."""
LEAST_LEFT = 0.5
"""Share of the facts that a window shows. All of them stay in the list of facts of the session."""
BUDGET = 8_000
"""Context budget in tokens."""


@dataclass(frozen=True)
class Survivors:
    """Counts of planted and surviving facts, of all sessions."""

    compressions: int
    """The fewest of a session."""
    asked: int
    """Requests to the model."""
    pinned: int
    pinned_left: int
    facts: int
    """Current facts of planted messages that are not pinned."""
    facts_left: int
    """Those whose value the window shows."""
    tokens: int
    """Tokens of the largest window."""

    @property
    def passed(self) -> bool:
        """Whether all pins and half of the facts survive in a window that fits."""
        return (
            self.compressions >= COMPRESSIONS
            and self.pinned_left == self.pinned > 0
            and self.facts_left >= LEAST_LEFT * self.facts > 0
            and self.tokens <= BUDGET
        )

    def to_json(self) -> dict[str, Any]:
        """The result as JSON, with shares in percent."""
        return {
            "compressions": self.compressions,
            "asked": self.asked,
            "pinned": 100 * self.pinned_left / self.pinned,
            "facts": self.facts,
            "facts_left": round(100 * self.facts_left / self.facts, 1),
            "tokens": self.tokens,
        }


async def repeats(pool: Pool, data: Path | None, seed: int) -> Survivors:
    """Plants facts, compresses each session at least ten times and counts the facts that survive."""
    found = [await _repeat(pool, data, seed + number) for number in range(SESSIONS)]
    return Survivors(
        compressions=min(one.compressions for one in found),
        asked=sum(one.asked for one in found),
        pinned=sum(one.pinned for one in found),
        pinned_left=sum(one.pinned_left for one in found),
        facts=sum(one.facts for one in found),
        facts_left=sum(one.facts_left for one in found),
        tokens=max(one.tokens for one in found),
    )


async def _repeat(pool: Pool, data: Path | None, seed: int) -> Survivors:
    draw = random.Random(seed)
    chats, calls = rows(data, "locomo"), optional_rows(data, "tau_airline")
    informative, idle = _sorted_out(chats)
    asked = [message for row in calls for message in messages_of(row) if message.role == "user" and _has_facts(message)]
    planted = _drawn(draw, informative, asked or informative, 2 * PLANTED)
    pins = [Message(one.role, one.content, name=one.name, pinned=True) for one in planted[:PLANTED]]
    async with serve_provider() as provider:
        provider.control.add_rule(Rule(reply=Reply(content=SENTENCE)))
        session = ProductSession(pool, f"repeats-{seed}", BUDGET, _summarizer(pool, provider))
        compressions = 0
        for message in (*pins, *planted[PLANTED:]):
            compressions += await session.append([*draw.sample(idle, 2), message])
        while compressions < COMPRESSIONS:
            compressions += await session.append(draw.sample(idle, 10))
        return await _survivors(session, pins, planted[PLANTED:], compressions, len(provider.served()))


def repeats_table(found: Survivors) -> Table:
    """Tabulates the result in one row."""
    figures = found.to_json()
    columns = ["compressions", "model asked", "pinned left %", "facts", "facts left %", "tokens of the window"]
    return Table("Planted facts after repeated compression", columns, [list(figures.values())])


def _summarizer(pool: Pool, provider: Provider) -> Summarizer:
    ledger = Ledger(pool, LedgerSettings(defaults={kind: Policy() for kind in Kind}))
    return Summarizer("openai/writer", ModelProvider({}), ledger, PriceBook({}, {}, None), api_base=provider.api_base)


async def _survivors(
    session: ProductSession, pins: Sequence[Message], planted: Sequence[Message], compressions: int, asked: int
) -> Survivors:
    window = await session.window(BUDGET, StrategyName.THREE_PART)
    text = "\n".join(message.text for message in window.messages)
    shown = {message.text for message in window.messages if message.pinned}
    pins_left = sum(pin.text in shown for pin in pins)
    texts = {message.text for message in planted}
    facts = [
        fact
        for fact in await Facts(session.pool, Placeholders(session.pool)).all(TENANT, session.session_id, "")
        if fact.superseded_by is None and any(fact.text in one or fact.value in one for one in texts)
    ]
    left = sum(fact.value in text for fact in facts)
    return Survivors(compressions, asked, len(pins), pins_left, len(facts), left, window.tokens)


def _sorted_out(chats: Sequence[Row]) -> tuple[list[Message], list[Message]]:
    """Returns the evidence messages that contain facts, and the messages that contain none."""
    informative, idle = [], []
    for row in chats:
        evidence = {turn for question in row["qa"] for turn in question.get("evidence") or ()}
        for raw, message in zip(row["messages"], messages_of(row), strict=True):
            if not _has_facts(message):
                idle.append(message)
            elif raw["turn_id"] in evidence:
                informative.append(message)
    return informative, idle


def _drawn(draw: random.Random, chats: Sequence[Message], calls: Sequence[Message], size: int) -> list[Message]:
    """Draws equally many messages from both collections, shuffled."""
    drawn = [*draw.sample(chats, size // 2), *draw.sample(calls, size - size // 2)]
    draw.shuffle(drawn)
    return drawn


def _has_facts(message: Message) -> bool:
    return bool(extract_facts([StoredMessage(1, "", message, {})]))
