"""Window benchmark: builds windows of real conversations at every cut, checks their invariants and measures latency.

Every window is checked independently: token count, partition, tool pairs, first role, required messages, and whether
the next older group would still have fitted. A refusal is correct only where the required messages exceed the budget.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from os import getloadavg
from pathlib import Path

import uvloop

from purser.benchmarks.data import rows
from purser.benchmarks.outcome import Cell, Outcome, Table
from purser.benchmarks.progress import log_step
from purser.benchmarks.windows import prefixes
from purser.benchmarks.windows.checks import Case, faults, messages_of
from purser.benchmarks.windows.speed import MODEL, SIZES, Timing, measure
from purser.compose.signals import cancelled_once
from purser.context.compression.extracts.extraction import extract
from purser.context.compression.requests import CountText, SummarySource
from purser.context.conversation.messages import Message
from purser.context.errors import WindowTooSmall
from purser.context.strategies import STRATEGIES, WINDOW_PRESETS, StrategyName
from purser.context.tokens import count_message
from purser.context.windows import build_window
from purser.context.windows.builder import Summarize

WAYS: Sequence[tuple[str | None, str | None]] = (
    *((strategy, None) for strategy in StrategyName),
    *((None, preset) for preset in WINDOW_PRESETS),
)
"""All strategies, then all presets, as pairs of strategy and preset."""
MAXIMAL = [name for name, traits in STRATEGIES.items() if traits.rounds is None and not traits.chooses]
"""Strategies that are bounded by tokens alone, not by messages or rounds."""
CUT_EVERYWHERE = ("tau_airline", "sweagent")
WHOLE = ("whowhen", "tau_airline", "crosswoz", "sweagent")
MOST_P50_MS, MOST_P95_MS, MOST_GROWTH = 5.0, 20.0, 1.5
"""Limits of a window of the shortest session, and of the growth of its p50 with ten times the messages."""
MOST_MS = {20_000: 100.0, 100_000: 300.0}
"""Limit of the first window and of the p95 by number of messages."""
MOST_LOOP_MS = 10.0
"""Longest time for which building a window may hold the event loop."""
SHARES = (0.15, 0.4, 0.8)
"""Budgets of windows as shares of the conversation's tokens."""


def run(data: Path | None) -> Outcome:
    """Runs the benchmark on the conversations in the folder `data`."""
    cut = {name: _swept(data, name, beginnings, everywhere=True) for name in CUT_EVERYWHERE}
    whole = {name: _swept(data, name, extract, everywhere=False) for name in WHOLE}
    log_step("prefixes of tau_airline that providers can cache")
    stable = prefixes.measure(conversations(data, "tau_airline"))
    timings = uvloop.run(cancelled_once(measure()))  # as in every process that serves
    growth, slow = grown(timings), list(missed(timings))
    wrong = sum(sum(found.values()) - found["right"] - found["refused"] for found in (*cut.values(), *whole.values()))
    return Outcome(
        gate_passed=wrong == 0 and prefixes.is_better(stable) and not slow,
        results={
            "cut_everywhere": {name: dict(found) for name, found in cut.items()},
            "whole": {name: dict(found) for name, found in whole.items()},
            "prefixes": [asdict(one) for one in stable],
            "speed": [asdict(timing) for timing in timings],
            "growth": growth,
            "missed": slow,
        },
        settings={"shares": SHARES, "model": MODEL},
        tables=[
            _table("Cut at every message, every strategy and preset", cut),
            _table("Whole conversations, extractive summaries", whole),
            prefixes.table(stable),
            _timings(timings),
            Table(f"{SIZES[1] // SIZES[0]} times the history", ["way", "times the p50"], list(growth.items())),
            Table(
                "Limits missed" if slow else "Every limit of time holds",
                ["way", "messages", "figure", "ms, or times", "limit"],
                slow,
            ),
        ],
    )  # fmt: skip


def _swept(data: Path | None, name: str, summarize: Summarize, *, everywhere: bool) -> Counter[str]:
    """`sweep` of a data set."""
    log_step(f"{name}, cut at every message" if everywhere else f"{name}, whole conversations")
    return sweep(conversations(data, name), summarize, everywhere=everywhere)


def conversations(data: Path | None, name: str) -> list[list[Message]]:
    """Reads all conversations of a data set."""
    return [messages_of(row) for row in rows(data, name)]


def sweep(conversations: Sequence[Sequence[Message]], summarize: Summarize, *, everywhere: bool) -> Counter[str]:
    """Counts windows by outcome: `right`, `refused` for good reason, or the name of a fault.

    Args:
        conversations: the conversations to cut.
        summarize: writes summaries.
        everywhere: builds a window after every message, not only after the last.
    """
    found: Counter[str] = Counter()
    for messages in conversations:
        counts = [count_message(message.to_openai(), MODEL).tokens for message in messages]
        for end in range(1 if everywhere else len(messages), len(messages) + 1):
            found.update(_windows(messages[:end], counts[:end], summarize))
    return found


def _windows(messages: Sequence[Message], counts: Sequence[int], summarize: Summarize) -> Iterator[str]:
    for strategy, preset in WAYS:
        first = preset is None or WINDOW_PRESETS[preset].settings.keeps_first_request
        for share in SHARES:
            case = Case(messages, counts, max(1, int(sum(counts) * share)), MODEL, first)
            yield from check(case, strategy, preset, summarize)


def check(case: Case, strategy: str | None, preset: str | None, summarize: Summarize) -> Iterator[str]:
    """Builds one window and yields `right`, `refused` or its faults."""
    try:
        window = build_window(
            case.messages, budget=case.budget, model=case.model, strategy=strategy, preset=preset,
            summarize=summarize, counts=case.counts,
        )  # fmt: skip
    except WindowTooSmall:
        yield "refused" if case.least() > case.budget else "refused what fits"
        return
    maximal = preset is None and window.strategy in MAXIMAL
    yield from list(faults(case, window, maximal=maximal)) or ["right"]


def beginnings(source: SummarySource, most_tokens: int, count: CountText) -> str:
    """A cheap summarizer: the beginnings of as many messages as fit."""
    written = ""
    for speaker, text in ((passage.speaker, passage.text) for passage in source.passages):
        longer = f"{written}{speaker}: {text[:20]}\n"
        if count(longer) > most_tokens:
            break
        written = longer
    return written


def grown(timings: Sequence[Timing]) -> dict[str, float]:
    """Ratio of the p50 latency of the second session, ten times as long, to that of the first, by way."""
    small, large = ({one.way: one.p50_ms for one in timings if one.messages == size} for size in SIZES[:2])
    return {way: round(large[way] / small[way], 2) for way in small if way in large}


def missed(timings: Sequence[Timing]) -> Iterator[tuple[Cell, ...]]:
    """Yields each figure of Purser that is above its limit, on a machine that does nothing else."""
    ours = [one for one in timings if one.ours]
    growth = grown(ours)
    for one in ours:
        found: list[tuple[str, float, float]] = [("loop", one.loop_ms, MOST_LOOP_MS)]
        if one.messages == SIZES[0]:
            found += [("p50", one.p50_ms, MOST_P50_MS), ("p95", one.p95_ms, MOST_P95_MS)]
            found += [("growth", growth[one.way], MOST_GROWTH)] if one.way in growth else []
        if limit := MOST_MS.get(one.messages):
            found += [("first", one.first_ms, limit), ("p95", one.p95_ms, limit)]
        for figure, value, limit in found:
            if value > limit:
                yield one.way, one.messages, figure, value, limit


def _timings(timings: Sequence[Timing]) -> Table:
    columns = ["way", "messages", "tokens", "first ms", "p50 ms", "p95 ms", "loop ms", "processor ms"]
    rows: list[tuple[Cell, ...]] = [
        (
            one.way, one.messages, one.tokens,
            *(f"{figure:.2f}" for figure in (one.first_ms, one.p50_ms, one.p95_ms, one.loop_ms, one.processor_ms)),
        )
        for one in timings
    ]  # fmt: skip
    return Table(f"One window of a counted session; load average {getloadavg()[0]:.1f}", columns, rows)


def _table(title: str, found: dict[str, Counter[str]]) -> Table:
    wrong = sorted({fault for counts in found.values() for fault in counts} - {"right", "refused"})
    columns = ["set", "windows", "required too large %", *wrong]
    rows: list[tuple[Cell, ...]] = [
        (name, counts.total(), round(100 * counts["refused"] / counts.total(), 1), *(counts[fault] for fault in wrong))
        for name, counts in found.items()
    ]
    return Table(title if wrong else f"{title}: no fault", columns, rows)
