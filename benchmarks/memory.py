"""Memory benchmark without a model: recall of the messages that answer a question, and speed.

It uses the product's own path: `Conversations.append`, then `Memory.search` on a real Postgres. Recall at k follows
LoCoMo's definition: the share of a question's evidence among the first k messages found, 1 for a question without
evidence, averaged over all questions, adversarial ones included. The query is the plain question.
"""

import asyncio
from collections import defaultdict
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from purser.benchmarks.data import folder
from purser.benchmarks.outcome import Cell, Outcome, Table
from purser.benchmarks.postgres import temporary_postgres
from purser.benchmarks.progress import log_step
from purser.benchmarks.recall import speed
from purser.benchmarks.recall.baselines import Baselines
from purser.benchmarks.recall.figures import AT, LEAST, OURS, Comparison, Figures, Verdict, comparisons
from purser.benchmarks.recall.questions import Corpus, Place, corpora
from purser.benchmarks.recall.speed import TENANT, Speed
from purser.budget.postgres.connections.pools import Pool, create_pool
from purser.compose.signals import cancelled_once
from purser.context.postgres.conversation.conversations import Conversations
from purser.context.postgres.memory.memory import Memory
from purser.context.retrieval.postings import Turn

Sets = dict[str, dict[str, Figures]]
"""Figures by set and search."""


def run(data: Path | None) -> Outcome:
    """Asks the questions of all installed sets, LoCoMo's at least, beside baselines; then measures speed."""
    return asyncio.run(cancelled_once(_run(folder(data))))


async def _run(data: Path) -> Outcome:
    found = corpora(data)
    messages = [one for corpus in found["locomo"] for said in corpus.sessions.values() for one in said]
    questions = [question for corpus in found["locomo"] for question, _ in corpus.questions]
    async with temporary_postgres() as dsn, await create_pool(dsn) as pool:
        # Smallest first: it also loads what later ones need.
        speeds = [await speed.measure(pool, messages, questions, size) for size in speed.SIZES]
        bench = Bench(pool)
        sets: Sets = {name: await bench.asked(name, some) for name, some in found.items()}
    compared = comparisons(sets)
    recalls = [str(one) for one in compared if one.verdict is Verdict.MISSED]
    missed = {"recall": recalls, "speed": speed.slow(speeds)}
    return Outcome(
        gate_passed=not any(missed.values()),
        results=_results(sets)
        | {
            "compared": [asdict(one) | {"verdict": one.verdict} for one in compared],
            "postgres": [asdict(one) for one in speeds],
            "missed": missed,
        },
        settings={"search": "Memory.search on Postgres, by words", "least": {f"R@{k}": v for k, v in LEAST.items()}},
        tables=[_recalls(sets), _compared(compared), _times(speeds), *_missed(missed)],
    )


@dataclass(frozen=True)
class Bench:
    """Stores conversations, and searches them with the product and with the baselines."""

    pool: Pool

    async def asked(self, name: str, some: list[Corpus]) -> dict[str, Figures]:
        """Figures of all questions about these corpora, by search."""
        log_step(f"questions of {name}")
        parts: defaultdict[str, list[Figures]] = defaultdict(list)
        for number, corpus in enumerate(some):
            user = f"{name}-{number}"
            for search, figures in (await self._asked(corpus, user)).items():
                parts[search].append(figures)
        return {search: Figures.together(figures) for search, figures in parts.items()}

    async def _asked(self, corpus: Corpus, user: str) -> dict[str, Figures]:
        conversations, memory = Conversations(self.pool), Memory(self.pool)
        places: dict[tuple[str, int], Place] = {}
        for session, messages in corpus.sessions.items():
            seqs = await conversations.append(TENANT, session, messages, origin="bench", user_id=user)
            places |= {(session, seq): (session, at) for at, seq in enumerate(seqs)}
        order = list(places.values())
        today = datetime.now(UTC)
        baselines = Baselines(
            [
                [Turn(one.role, one.name, one.text, (one.created_at or today).date()) for one in messages]
                for messages in corpus.sessions.values()
            ]
        )
        figures: defaultdict[str, Figures] = defaultdict(Figures)
        first = next(iter(corpus.sessions))
        for question, evidence in corpus.questions:
            found = (await memory.search(TENANT, first, question, limit=max(AT), user_id=user)).found
            best = sorted(found, key=lambda one: -one.score)
            figures[OURS].add([places[one.session_id, one.seq] for one in best], evidence)
            for search, numbers in baselines.ranked(question, max(AT)).items():
                figures[search].add([order[number] for number in numbers], evidence)
        return figures


def _results(sets: Sets) -> dict[str, Any]:
    return {
        name: {search: figures.results() for search, figures in by_search.items()} for name, by_search in sets.items()
    }


def _recalls(sets: Sets) -> Table:
    columns = ["questions of", "search", *(f"R@{k}" for k in AT), "questions"]
    cells: list[list[Cell]] = [
        [name, search, *map(figures.recall, AT), figures.questions]
        for name, by_search in sets.items()
        for search, figures in by_search.items()
    ]
    return Table("evidence found, percent", columns, cells)


def _compared(compared: list[Comparison]) -> Table:
    columns = ["questions of", "at", "Purser", "least", "of", "ahead, questions", "verdict"]
    cells: list[list[Cell]] = [
        [one.set_name, f"R@{one.k}", one.ours, one.least, one.of, one.ahead, one.verdict] for one in compared
    ]
    return Table("against the best baseline and what is required", columns, cells)


def _times(speeds: list[Speed]) -> Table:
    columns = ["messages", "append, s", "append and index, s", "search, median ms", "95th percentile"]
    cells: list[list[Cell]] = [[one.messages, one.append_s, one.searchable_s, one.ms_p50, one.ms_p95] for one in speeds]
    return Table("time in Postgres", columns, cells)


def _missed(missed: dict[str, list[str]]) -> list[Table]:
    cells: list[list[Cell]] = [[part, one] for part, some in missed.items() for one in some]
    return [Table("missed", ["part", "what"], cells)] if cells else []
