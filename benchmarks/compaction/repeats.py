"""Repeated compression: how many planted facts survive when the model itself remembers nothing.

Messages with facts are drawn from real conversations and inserted between messages without facts. Half of them are
pinned. Each compression replaces what it covers by one fixed sentence and the sheet of extracted facts.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from purser.benchmarks.compaction.conversations import MODEL, count, messages_of, optional_rows
from purser.benchmarks.data import Row, rows
from purser.benchmarks.outcome import Table
from purser.context.compression.ranges import choose_range
from purser.context.compression.summaries import summary_message
from purser.context.conversation.conversations import Conversation, MessageRef, SummaryRef
from purser.context.conversation.messages import Message, StoredMessage
from purser.context.facts import MOST_TOKENS, Fact, FactSheet, extract_facts, render_facts, supersede
from purser.context.settings import ContextSettings
from purser.context.tokens import count_message

SENTENCE = "They talked about their plans and agreed to go on."
"""The model's reply to every compression request."""
COMPRESSIONS = 10
PLANTED = 30
"""Planted messages per half, drawn equally from both collections: a sheet of 600 tokens holds about 50 facts."""
BUDGET = 8_000
"""Context budget in tokens."""


@dataclass
class Survivors:
    """Counts of planted and surviving facts."""

    pinned: int = 0
    pinned_left: int = 0
    ledger: int = 0
    """Current facts extracted from messages that are not pinned."""
    ledger_left: int = 0
    """Extracted facts whose value is on the sheet."""
    overflow: int = 0
    """Extracted facts that the sheet lists as left out."""
    compressions: int = 0
    largest_sheet: int = 0
    """Tokens of the largest sheet."""
    sizes: list[int] = field(default_factory=list)
    """Tokens of the conversation after each compression."""

    @property
    def passed(self) -> bool:
        """Whether all pins and 90 % of the facts survive, the rest is listed, and no size limit is exceeded."""
        return (
            self.compressions == COMPRESSIONS
            and self.pinned_left == self.pinned > 0
            and self.ledger_left >= 0.9 * self.ledger > 0
            and self.ledger_left + self.overflow == self.ledger
            and self.largest_sheet <= MOST_TOKENS
            and max(self.sizes) <= BUDGET
        )

    def to_json(self) -> dict[str, Any]:
        """The result as JSON, with shares in percent."""
        return {
            "compressions": self.compressions,
            "pinned": 100 * self.pinned_left / self.pinned,
            "ledger": round(100 * self.ledger_left / self.ledger, 1),
            "ledger_facts": self.ledger,
            "overflow": self.overflow,
            "largest_sheet": self.largest_sheet,
            "sizes": self.sizes,
        }


def repeats(data: Path | None, seed: int) -> Survivors:
    """Plants facts, compresses ten times and counts the facts that survive."""
    draw = random.Random(seed)
    chats, calls = rows(data, "locomo"), optional_rows(data, "tau_airline")
    informative, idle = _sorted_out(chats)
    asked = [message for row in calls for message in messages_of(row) if message.role == "user" and _facts([message])]
    planted = _drawn(draw, informative, asked or informative, 2 * PLANTED)
    pins = [Message(one.role, one.content, name=one.name, pinned=True) for one in planted[:PLANTED]]
    run = _Run(draw, idle)
    run.strew([*pins, *planted[PLANTED:]])
    for _ in range(COMPRESSIONS):
        run.compress()
    return run.survivors()


def repeats_table(found: Survivors) -> Table:
    """Tabulates the result in one row."""
    figures = found.to_json()
    row = [figures[name] for name in ("compressions", "pinned", "ledger", "ledger_facts", "overflow")]
    columns = ["compressions", "pinned left %", "facts left %", "facts", "listed as left out"]
    return Table(
        "Planted facts after repeated compression", [*columns, "largest sheet"], [[*row, figures["largest_sheet"]]]
    )


class _Run:
    """A conversation that grows and is compressed repeatedly."""

    def __init__(self, draw: random.Random, idle: Sequence[Message]) -> None:
        self._draw = draw
        self._idle = list(idle)
        self._stored: list[StoredMessage] = []
        self._summary: SummaryRef | None = None
        self._known: list[Fact] = []
        self._sheet = FactSheet("", (), ())
        self._found = Survivors()

    def strew(self, planted: Sequence[Message]) -> None:
        """Appends these messages, each after two messages without facts."""
        for message in planted:
            self._append(*self._draw.sample(self._idle, 2), message)

    def compress(self) -> None:
        """Appends messages until the compression trigger is exceeded, then compresses."""
        settings = ContextSettings()
        while self._conversation.tokens <= BUDGET * settings.trigger_ratio:
            self._append(*self._draw.sample(self._idle, 10))
        span = choose_range(self._conversation, settings, BUDGET)
        if span is None:
            return
        covered = [one for one in self._stored if one.seq in set(span.seqs)]
        self._known = supersede([*self._known, *extract_facts(covered)])
        room = span.most_tokens - self._tokens(span.first_seq, span.last_seq, f"{SENTENCE}\n")
        self._sheet = render_facts(self._known, min(MOST_TOKENS, room), count)
        tokens = self._tokens(span.first_seq, span.last_seq, f"{SENTENCE}\n{self._sheet.text}")
        version = self._summary.version + 1 if self._summary else 1
        self._summary = SummaryRef(version, span.first_seq, span.last_seq, tokens)
        self._found.compressions += 1
        self._found.largest_sheet = max(self._found.largest_sheet, count(self._sheet.text))
        self._found.sizes.append(self._conversation.tokens)

    def survivors(self) -> Survivors:
        """Counts the pins and facts that a window would show now."""
        shown = {ref.seq for group in self._conversation.groups for ref in group.refs}
        pinned = [one.seq for one in self._stored if one.message.pinned]
        current = [fact for fact in self._known if fact.superseded_by is None]
        self._found.pinned, self._found.pinned_left = len(pinned), len(set(pinned) & shown)
        self._found.ledger = len(current)
        self._found.ledger_left = sum(fact.value in self._sheet.text for fact in current)
        self._found.overflow = sum(fact.value not in self._sheet.text for fact in self._sheet.overflow)
        return self._found

    def _append(self, *messages: Message) -> None:
        for message in messages:
            seq = len(self._stored) + 1
            tokens = count_message(message.to_openai(), MODEL).tokens
            self._stored.append(StoredMessage(seq, "", message, {MODEL: tokens}))

    @property
    def _conversation(self) -> Conversation:
        refs = (
            MessageRef(one.seq, one.message.role, one.tokens[MODEL], pinned=one.message.pinned) for one in self._stored
        )
        return Conversation("", tuple(refs), self._summary)

    def _tokens(self, first_seq: int, last_seq: int, text: str) -> int:
        return count_message(summary_message(first_seq, last_seq, text).to_openai(), MODEL).tokens


def _sorted_out(chats: Sequence[Row]) -> tuple[list[Message], list[Message]]:
    """Returns the evidence messages that contain facts, and the messages that contain none."""
    informative, idle = [], []
    for row in chats:
        evidence = {turn for question in row["qa"] for turn in question.get("evidence") or ()}
        for raw, message in zip(row["messages"], messages_of(row), strict=True):
            if not _facts([message]):
                idle.append(message)
            elif raw["turn_id"] in evidence:
                informative.append(message)
    return informative, idle


def _drawn(draw: random.Random, chats: Sequence[Message], calls: Sequence[Message], size: int) -> list[Message]:
    """Draws equally many messages from both collections, shuffled."""
    drawn = [*draw.sample(chats, size // 2), *draw.sample(calls, size - size // 2)]
    draw.shuffle(drawn)
    return drawn


def _facts(messages: Sequence[Message]) -> list[Fact]:
    return extract_facts([StoredMessage(seq, "", message, {}) for seq, message in enumerate(messages, 1)])
