"""Summaries benchmark: which facts and figures survive in the same number of tokens, by strategy.

`extractive` is an extract; `hybrid` is an extract in the room that memory leaves, and what memory finds for the
question; `model` are summaries that a model writes. Without `--model` the shipped provider replays recorded summaries.

Gates: no text exceeds its room; the strategy that tasks use by default keeps at least as much of the facts, figures and
answers of every set as each other one that asks no model.
"""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path

from purser.activities.compression.summarizer import Summarizer
from purser.activities.models.provider import ModelProvider
from purser.benchmarks.compaction.conversations import MODEL
from purser.benchmarks.compaction.written import EXTRACTIVE, HYBRID, MEASURES, Figures, Transcript, measured, replayed
from purser.benchmarks.data import Row, optional_rows, rows
from purser.benchmarks.outcome import Cell, Outcome, Table
from purser.benchmarks.postgres import temporary_postgres
from purser.budget.policies.policy import Policy
from purser.budget.postgres.connections.pools import create_pool
from purser.budget.postgres.ledger.ledger import Ledger
from purser.budget.postgres.ledger.settings import LedgerSettings
from purser.budget.pricing.price_book import PriceBook
from purser.budget.scopes import Kind
from purser.compose.demo.provider import serve_provider
from purser.compose.models import model_provider
from purser.compose.prices import price_book
from purser.compose.settings.load import load_settings
from purser.compose.signals import cancelled_once
from purser.context.settings import ContextSettings
from purser.context.strategies import STRATEGIES

DECIDING = ("facts", "figures", "answers")
"""Measures by which the default is decided; evidence word for word would favour extracts."""
Sets = Mapping[str, Mapping[str, Figures]]
"""Figures by set and strategy."""


def run(data: Path | None, model: str | None = None) -> Outcome:
    """Measures LoCoMo, whose summaries are recorded, and BFCL's memory scenarios if they are installed.

    Args:
        data: folder of the sets.
        model: writes the summaries, as `PURSER_SUMMARIZER` would; `None`: recorded ones are replayed.

    Raises:
        MissingData: LoCoMo is not installed.
    """
    sets = {"locomo": rows(data, "locomo", having="session_summaries")}
    if others := optional_rows(data, "bfcl_memory"):
        sets["bfcl_memory"] = [row for row in others if "qa" in row]
    found = asyncio.run(cancelled_once(_measured(sets, model)))
    default = default_strategy()
    missed = shortfalls(found, default)
    return Outcome(
        gate_passed=not missed,
        results={
            "summaries": {name: {one: figures.to_json() for one, figures in by.items()} for name, by in found.items()},
            "missed": missed,
        },
        settings={
            "model": model or "recorded summaries",
            "counted as": MODEL,
            "default": ContextSettings().strategy.value,
        },
        tables=[*(_table(name, by) for name, by in found.items()), *_missed(missed)],
    )


def default_strategy() -> str:
    """Which of the measured strategies tasks use by default."""
    return HYBRID if STRATEGIES[ContextSettings().strategy].retrieves else EXTRACTIVE


def shortfalls(found: Sets, default: str) -> list[str]:
    """What the gate misses."""
    missed: list[str] = []
    for name, by in found.items():
        shown = {one: figures.to_json() for one, figures in by.items()}
        for one, figures in by.items():
            if any(tokens > room for tokens, room in zip(figures.tokens, figures.room, strict=True)):
                missed.append(f"{name}: {one} exceeds its room")
        other = HYBRID if default == EXTRACTIVE else EXTRACTIVE
        for measure in DECIDING:
            if shown[default][measure] < shown[other][measure]:
                ours, best = shown[default][measure], shown[other][measure]
                missed.append(f"{name}: the default keeps {ours} % of {measure}, {other} {best} %")
    return missed


async def _measured(sets: Mapping[str, Sequence[Row]], model: str | None) -> dict[str, dict[str, Figures]]:
    async with AsyncExitStack() as open_until_done:
        dsn = await open_until_done.enter_async_context(temporary_postgres())
        pool = await open_until_done.enter_async_context(await create_pool(dsn))
        ledger = Ledger(pool, LedgerSettings(defaults={kind: Policy() for kind in Kind}))
        if model is not None:
            writer = _configured(ledger, model)
            return {name: await measured(pool, name, some, writer) for name, some in sets.items()}
        provider = await open_until_done.enter_async_context(serve_provider())
        for rule in replayed(Transcript.of(row) for some in sets.values() for row in some):
            provider.control.add_rule(rule)
        writer = Summarizer(
            "openai/recorded", ModelProvider({}), ledger, PriceBook({}, {}, None), api_base=provider.api_base
        )
        return {
            name: await measured(pool, name, some, writer if "session_summaries" in some[0] else None)
            for name, some in sets.items()
        }


def _configured(ledger: Ledger, model: str) -> Summarizer:
    """The model as the settings of the process reach it."""
    settings = load_settings()
    prices = price_book(settings)
    return Summarizer(
        model,
        model_provider(settings),
        ledger,
        prices,
        api_base=settings.summarizer_api_base,
        timeout_s=settings.summarizer_timeout_s,
        window=ContextSettings().window_of(model, prices),
    )


def _table(name: str, by: Mapping[str, Figures]) -> Table:
    cells: list[list[Cell]] = []
    for strategy, figures in by.items():
        shown = figures.to_json()
        values = [*(shown[measure] for measure in MEASURES), shown["tokens"], shown["ms_p50"], shown["ms_p95"]]
        cells.append([strategy, *values, sum(figures.replaced.values())])
    columns = ["strategy", *(f"{measure} %" for measure in MEASURES), "tokens", "median ms", "p95 ms", "replaced"]
    return Table(f"What summaries of equal size keep, {name}", columns, cells)


def _missed(missed: Sequence[str]) -> list[Table]:
    return [Table("missed", ["what"], [[one] for one in missed])] if missed else []
