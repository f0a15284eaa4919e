"""Stable prefixes: the share of input tokens that a provider can read from its cache of the previous call."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from purser.benchmarks.outcome import Table
from purser.context.conversation.messages import Message
from purser.context.errors import WindowTooSmall
from purser.context.settings import CUT_STEP
from purser.context.strategies import StrategySettings
from purser.context.tokens import count_message
from purser.context.windows import Window, build_window

MODEL = "gpt-4o"
STRATEGY = "token_truncation"
SHARES = (0.25, 0.4, 0.6)
"""Budgets as shares of the conversation's tokens."""
STEPS = (0.0, CUT_STEP)
"""Cut at every turn, and in steps as agents' windows are."""


@dataclass(frozen=True, slots=True)
class Prefixes:
    """Windows of all calls of some conversations."""

    budget_share: float
    cut_step: float
    calls: int
    """Calls after the first cut of their conversation."""
    cached: float
    """Share of their input tokens that form a common prefix with the previous call."""
    filled: float
    """Share of their budgets that they use."""


def measure(conversations: Sequence[Sequence[Message]]) -> list[Prefixes]:
    """Measures one call before each assistant message, for every budget, first cut at every turn and then in steps."""
    return [_measured(conversations, share, step) for share in SHARES for step in STEPS]


def _measured(conversations: Sequence[Sequence[Message]], share: float, step: float) -> Prefixes:
    calls = cached = tokens = budgets = 0
    settings = replace(StrategySettings(), cut_step=step)
    for messages in conversations:
        counts = [count_message(message.to_openai(), MODEL).tokens for message in messages]
        budget, before = int(sum(counts) * share), None
        for end in (index for index, message in enumerate(messages) if message.role == "assistant" and index):
            try:
                window = build_window(
                    messages[:end], budget=budget, model=MODEL, strategy=STRATEGY, settings=settings,
                    counts=counts[:end],
                )  # fmt: skip
            except WindowTooSmall:
                before = None
                continue
            if before is not None and window.dropped:
                calls, tokens, budgets = calls + 1, tokens + window.tokens, budgets + budget
                cached += _common(before, window, counts)
            before = window
    return Prefixes(share, step, calls, cached / max(1, tokens), tokens / max(1, budgets))


def _common(before: Window, after: Window, counts: Sequence[int]) -> int:
    """Tokens of the messages with which both windows begin."""
    common = 0
    for one, other, index in zip(before.messages, after.messages, after.indexes, strict=False):
        if one != other:
            break
        common += counts[index] if index is not None else count_message(other.to_openai(), MODEL).tokens
    return common


def table(found: Sequence[Prefixes]) -> Table:
    """Cached input tokens by budget, before and after cutting in steps."""
    return Table(
        "Input tokens that the previous call left in the provider's cache (tau_airline, token_truncation)",
        ["budget % of conversation", "cut", "calls", "cached %", "budget used %"],
        [
            (
                f"{one.budget_share:.0%}",
                f"in steps of {one.cut_step:.0%}" if one.cut_step else "at every turn",
                one.calls,
                round(100 * one.cached, 1),
                round(100 * one.filled, 1),
            )
            for one in found
        ],
    )


def is_better(found: Sequence[Prefixes]) -> bool:
    """Whether steps leave more in the cache for every budget."""
    return all(after.cached > before.cached for before, after in zip(found[::2], found[1::2], strict=True))
