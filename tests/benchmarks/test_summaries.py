"""The benchmark of summaries: replays of recorded ones, what it counts, and its gate."""

import asyncio
import gzip
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from purser.activities.compression.summarizer import Summarizer
from purser.activities.models.provider import ModelProvider
from purser.benchmarks.compaction.written import (
    EXTRACTIVE,
    HYBRID,
    MODEL_WRITTEN,
    Figures,
    Transcript,
    measured,
    replayed,
)
from purser.benchmarks.summaries import DECIDING, default_strategy, shortfalls
from purser.budget.postgres.connections.pools import Pool
from purser.budget.postgres.ledger.ledger import Ledger
from purser.budget.postgres.ledger.settings import LedgerSettings
from purser.budget.pricing.price_book import PriceBook
from purser.compose.demo.provider import Provider, serve_provider
from tests.support.servers.commands import Commands

TOWNS = ["Lima", "Oslo", "Quito", "Porto", "Turin", "Malmö", "Graz", "Split", "Genoa", "Ghent"]


def ticket(turn: int) -> str:
    return (
        f"My ticket to {TOWNS[turn % 10]} is number {4_000 + turn} and cost me ${100 + turn}, which I paid on the spot."
    )


def recorded(first: int, last: int) -> str:
    return "Ann paid for tickets: " + ", ".join(f"{TOWNS[n % 10]} {4_000 + n} ${100 + n}" for n in range(first, last))


RECORDED = {"1": recorded(0, 8), "2": recorded(30, 40)}


def row(sessions: int = 2) -> dict[str, Any]:
    """A conversation of 60 messages in sessions of 30, with questions about the first and the last."""
    messages = [
        {"role": "user", "name": "Ann", "content": ticket(turn), "turn_id": f"D:{turn}", "session": 1 + turn // 30}
        for turn in range(30 * sessions)
    ]
    asked = [
        {"question": f"What number has the ticket to {TOWNS[turn]}?", "answer": 4_000 + turn, "evidence": [f"D:{turn}"]}
        for turn in (0, 9)
    ]
    return {"id": "t", "messages": messages, "qa": asked, "session_summaries": RECORDED}


def writer(pool: Pool, provider: Provider) -> Summarizer:
    return Summarizer(
        "openai/recorded",
        ModelProvider({}),
        Ledger(pool, LedgerSettings()),
        PriceBook({}, {}, None),
        api_base=provider.api_base,
    )


@pytest.mark.proof
async def test_recorded_summaries_are_replayed_over_http_and_compared_at_equal_size(pool: Pool) -> None:
    transcript = Transcript.of(row())
    async with serve_provider() as provider:
        for rule in replayed([transcript]):
            provider.control.add_rule(rule)
        found = await measured(pool, "own", [row()], writer(pool, provider))
        assert len(provider.served()) == 2
    assert found.keys() == {EXTRACTIVE, HYBRID, MODEL_WRITTEN}
    assert found[MODEL_WRITTEN].to_json()["figures"] == 50, "the recorded summaries name 4000, not 4009"
    assert (found[MODEL_WRITTEN].evidence, found[MODEL_WRITTEN].replaced) == ([0, 0], {})
    for figures in found.values():
        assert all(
            0 < tokens <= room == transcript.room for tokens, room in zip(figures.tokens, figures.room, strict=True)
        )
    assert await pool.fetchval("select count(*) from holds where state = 'held'") == 0


async def test_a_text_that_is_no_summary_is_replaced_by_an_extract_and_counted(pool: Pool) -> None:
    async with serve_provider() as provider:
        found = await measured(pool, "own", [row()], writer(pool, provider))
    assert sum(found[MODEL_WRITTEN].replaced.values()) == 2
    assert found[MODEL_WRITTEN].tokens[0] > 0


async def test_a_set_without_recorded_summaries_gets_a_quarter_and_needs_no_model(pool: Pool) -> None:
    plain = {name: value for name, value in row().items() if name != "session_summaries"}
    transcript = Transcript.of(plain)
    found = await measured(pool, "own", [plain], None)
    assert found.keys() == {EXTRACTIVE, HYBRID}
    assert len(transcript.sessions) == 1
    assert found[HYBRID].to_json()["figures"] == 100, "memory finds what the question asks for"


FIGURES = Figures([0.5], [0.5], [0.5], [0.5], [90], [100], [0.01])


def better(measure: str) -> Figures:
    figures = replace(FIGURES)
    setattr(figures, measure, [0.6])
    return figures


def test_the_default_must_keep_the_most_within_its_room() -> None:
    best, other = default_strategy(), EXTRACTIVE if default_strategy() == HYBRID else HYBRID
    assert (
        shortfalls({"own": {best: FIGURES, other: FIGURES, MODEL_WRITTEN: replace(FIGURES, facts=[1.0])}}, best) == []
    )
    for measure in DECIDING:
        [missed] = shortfalls({"own": {best: FIGURES, other: better(measure)}}, best)
        assert missed == f"own: the default keeps 50.0 % of {measure}, {other} 60.0 %"
    [missed] = shortfalls({"own": {best: FIGURES, other: replace(FIGURES, tokens=[101])}}, best)
    assert missed == f"own: {other} exceeds its room"


def test_only_this_benchmark_takes_a_model(tmp_path: Path) -> None:
    problem = Commands.at(tmp_path).json("bench", "tokens", "--model", "openai/gpt-4o", code=2)
    assert "the benchmark tokens has no such option" in problem["detail"]


@pytest.mark.stack
async def test_a_configured_model_writes_the_summaries(tmp_path: Path) -> None:
    (tmp_path / "data" / "locomo").mkdir(parents=True)
    with gzip.open(tmp_path / "data" / "locomo" / "own.jsonl.gz", "wt") as file:
        file.write(json.dumps(row()) + "\n")
    async with serve_provider() as provider:
        for rule in replayed([Transcript.of(row())]):
            provider.control.add_rule(rule)
        purser = Commands.at(tmp_path, summarizer_api_base=provider.api_base)
        folder = str(tmp_path / "data")
        shown = await asyncio.to_thread(
            purser.run, "bench", "summaries", "--data", folder, "--model", "openai/writer", "--json"
        )
        assert {one.arrival.model for one in provider.served()} == {"writer"}
    found = json.loads(shown.stdout)
    assert found["settings"]["model"] == "openai/writer"
    assert found["results"]["summaries"]["locomo"][MODEL_WRITTEN]["figures"] == 50
