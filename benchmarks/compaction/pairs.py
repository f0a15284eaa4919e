"""Counts broken tool-call pairs and wrong first roles in the requests that each policy would send to a model."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from purser.benchmarks.compaction.conversations import MODEL, messages_of
from purser.benchmarks.data import optional_rows
from purser.benchmarks.outcome import Cell, Table
from purser.context.compression.requests import CountText, SummarySource
from purser.context.conversation.messages import SYSTEM_ROLES, Message
from purser.context.errors import WindowTooSmall
from purser.context.strategies import STRATEGIES
from purser.context.tokens import PER_CONVERSATION, count_message
from purser.context.windows import build_window

SETS = ("tau_airline", "sweagent")
BUDGETS = (1_000, 2_000)
"""Context budgets in tokens."""
STRATEGY_NAMES = [name for name, traits in STRATEGIES.items() if not (traits.retrieves or traits.chooses)]


@dataclass
class Broken:
    """Counts of what one policy broke."""

    requests: int = 0
    """Requests from which the policy left something out."""
    pairs: int = 0
    """Requests with a call that has no result, or a result that has no call."""
    starts: int = 0
    """Requests whose first message does not come from the user."""
    too_small: int = 0
    """Points where the strategy reported that the required messages do not fit."""

    def to_json(self) -> dict[str, int]:
        """The counts as JSON, by name."""
        return {
            "requests": self.requests,
            "broken_pairs": self.pairs,
            "wrong_starts": self.starts,
            "too_small": self.too_small,
        }


@dataclass(frozen=True)
class _Point:
    """The conversation just before a model call, without system messages."""

    messages: Sequence[Message]
    tokens: Sequence[int]


Cut = Callable[[_Point], Sequence[Message] | None]
"""Returns the messages to send, or `None` where nothing needs to be cut."""


def pairs(data: Path | None) -> dict[str, Broken]:
    """Runs naive policies and Purser's strategies on all transcripts with tool calls."""
    points = [point for name in SETS for row in optional_rows(data, name) for point in _points(messages_of(row))]
    naive: dict[str, Cut] = {f"last {last}": partial(_ends, 0, last) for last in (5, 10, 11, 20, 21)}
    naive |= {
        f"first {first} + last {last}": partial(_ends, first, last) for first, last in ((2, 10), (3, 20), (3, 21))
    }
    naive |= {f"newest {budget} tokens": partial(_newest, budget) for budget in BUDGETS}
    ours: dict[str, Cut] = {
        f"{name}, {budget} tokens": partial(_ours, name, budget) for name in STRATEGY_NAMES for budget in BUDGETS
    }
    return {name: _broken(points, cut) for name, cut in (naive | ours).items()}


def is_ours(policy: str) -> bool:
    """Whether the policy is one of Purser's strategies."""
    return policy.startswith(tuple(STRATEGY_NAMES))


def pair_table(found: Mapping[str, Broken]) -> Table:
    """Tabulates broken requests in percent of those that the policy cut."""
    rows: list[list[Cell]] = [
        [name, one.requests, 100 * one.pairs / one.requests, 100 * one.starts / one.requests, one.too_small]
        for name, one in found.items()
        if one.requests
    ]
    columns = ["policy", "requests", "broken pairs %", "wrong first role %", "said too small"]
    return Table("Tool calls and their results", columns, rows)


def _points(messages: Sequence[Message]) -> Iterator[_Point]:
    dialogue = [message for message in messages if message.role not in SYSTEM_ROLES]
    tokens = [count_message(message.to_openai(), MODEL).tokens for message in dialogue]
    for index, message in enumerate(dialogue):
        if message.role == "assistant" and any(one.tool_calls for one in dialogue):
            yield _Point(dialogue[:index], tokens[:index])


def _broken(points: Sequence[_Point], cut: Cut) -> Broken:
    found = Broken()
    for point in points:
        try:
            sent = cut(point)
        except WindowTooSmall:
            found.too_small += 1
            continue
        if sent is not None:
            spoken = [message for message in sent if message.role not in SYSTEM_ROLES]
            called = {identifier for message in sent for identifier in message.call_ids}
            answered = {message.tool_call_id for message in sent if message.tool_call_id}
            found.requests += 1
            found.pairs += called != answered
            found.starts += bool(spoken) and spoken[0].role != "user"
    return found


def _ends(first: int, last: int, point: _Point) -> Sequence[Message] | None:
    messages = point.messages
    return [*messages[:first], *messages[-last:]] if len(messages) > first + last else None


def _newest(budget: int, point: _Point) -> Sequence[Message] | None:
    left, start = budget, len(point.messages)
    while start and (left := left - point.tokens[start - 1]) >= 0:
        start -= 1
    return point.messages[start:] if start else None


def _ours(strategy: str, budget: int, point: _Point) -> Sequence[Message] | None:
    if sum(point.tokens) + PER_CONVERSATION <= budget:
        return None
    window = build_window(
        point.messages, budget=budget, model=MODEL, strategy=strategy, counts=point.tokens, summarize=_one_sentence
    )
    return window.messages


def _one_sentence(source: SummarySource, most_tokens: int, count: CountText) -> str:
    return "The customer asked for help with a booking, and the agent looked it up."
