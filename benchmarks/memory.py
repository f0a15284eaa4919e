"""Memory benchmark without a model: recall of the messages that answer a question, and search latency.

It uses the product's own path: `Conversations.append`, then `Memory.search` on a real Postgres. Recall at k follows
LoCoMo's definition: the share of a question's evidence among the first k messages found, 1 for a question without
evidence, averaged over all questions, adversarial ones included. The query is the plain question. A message is its text
plus the caption of its image; its speaker is the name of the message.
"""

import asyncio
import re
import time
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import cycle, islice
from pathlib import Path
from statistics import mean, median, quantiles
from typing import Any

from purser.benchmarks.data import Row, folder, rows
from purser.benchmarks.outcome import Cell, Outcome, Table
from purser.benchmarks.postgres import temporary_postgres
from purser.budget.postgres.connections.pools import create_pool
from purser.context.conversation.messages import Message
from purser.context.postgres.conversation.conversations import Conversations
from purser.context.postgres.memory.index import MemoryIndex
from purser.context.postgres.memory.memory import Memory

TENANT = "bench"
AT = (1, 5, 10, 25, 50)
LEAST = {5: 61.4, 10: 70.9, 25: 79.6}
"""Minimum percent of LoCoMo's evidence among the first k: what BM25 plus half the score of neighbours finds."""
SIZES = (1_000, 10_000, 100_000)
TIMED = 100
"""Questions timed at each size."""
_APPEND = 1_000


@dataclass
class Figures:
    """Search results of a set of questions."""

    shares: dict[int, list[float]] = field(default_factory=lambda: defaultdict(list))
    """Share of each question's evidence among the first k, by k."""
    seconds: list[float] = field(default_factory=list)

    def add(self, found: Sequence[Any], evidence: Collection[Any], seconds: float) -> None:
        """Adds one question with its results, best first."""
        self.seconds.append(seconds)
        for k in AT:
            among = len(set(evidence).intersection(found[:k]))
            self.shares[k].append(among / len(evidence) if evidence else 1.0)

    def recall(self, k: int) -> float:
        """Mean recall at k in percent."""
        return 100 * mean(self.shares[k])

    def passes(self) -> bool:
        """Whether recall reaches `LEAST` at every k."""
        return all(self.recall(k) >= least for k, least in LEAST.items())

    def results(self) -> dict[str, Any]:
        """The figures as JSON."""
        recall = {f"R@{k}": round(self.recall(k), 1) for k in AT}
        return recall | {"queries": len(self.seconds), "ms_per_query": round(1_000 * mean(self.seconds), 2)}


def run(data: Path | None) -> Outcome:
    """Asks every question of LoCoMo and, where installed, of BFCL's memory scenarios and of KdConv."""
    return asyncio.run(_run(folder(data)))


async def _run(data: Path) -> Outcome:
    async with temporary_postgres() as dsn, await create_pool(dsn) as pool:
        bench = Bench(Conversations(pool), Memory(pool), MemoryIndex(pool))
        locomo = {row["id"]: await bench.conversation(row) for row in rows(data, "locomo")}
        sets = {"locomo": together(locomo.values())}
        if (data / "bfcl_memory").is_dir():
            scenarios = [await bench.conversation(row) for row in rows(data, "bfcl_memory", having="qa")]
            sets["bfcl_memory"] = together(scenarios)
        if (data / "kdconv").is_dir():
            sets["kdconv"] = await bench.dialogues(rows(data, "kdconv"))
        timed = {size: await bench.timed(rows(data, "locomo"), size) for size in SIZES}
    parts = {f"locomo {name}": figures for name, figures in locomo.items()}
    return Outcome(
        gate_passed=sets["locomo"].passes(),
        results={name: figures.results() for name, figures in sets.items()}
        | {"locomo_conversations": {name: figures.results() for name, figures in locomo.items()}}
        | {"postgres": {str(size): times for size, times in timed.items()}},
        settings={"search": "Memory.search on Postgres, by words", "least": {f"R@{k}": v for k, v in LEAST.items()}},
        tables=[_recalls(sets | parts), _times(timed)],
    )


@dataclass
class Bench:
    """Stores conversations and searches them."""

    conversations: Conversations
    memory: Memory
    index: MemoryIndex

    async def conversation(self, row: Row) -> Figures:
        """Stores one conversation as a session and asks its questions, whose evidence names messages by `turn_id`."""
        seqs = await self._append(row["id"], map(_message, row["messages"]))
        turns = dict(zip(seqs, (message["turn_id"] for message in row["messages"]), strict=True))
        figures = Figures()
        for question in row["qa"]:
            found, seconds = await self._ask(row["id"], question["question"])
            figures.add([turns[seq] for _, seq in found], question["evidence"], seconds)
        return figures

    async def dialogues(self, given: Sequence[Row]) -> Figures:
        """Stores dialogues of a domain as sessions of one user; a message answers questions about its attributes."""
        figures = Figures()
        evidence: dict[tuple[str, str], set[tuple[str, int]]] = defaultdict(set)
        for row in given:
            seqs = await self._append(row["id"], map(_message, row["messages"]), user_id=row["domain"])
            for seq, question in _questions(seqs, row["messages"]):
                evidence[row["domain"], question].add((row["id"], seq))
        for (domain, question), wanted in evidence.items():
            found, seconds = await self._ask(domain, question, user_id=domain)
            figures.add(found, wanted, seconds)
        return figures

    async def timed(self, given: Sequence[Row], size: int) -> dict[str, float]:
        """Milliseconds per search in an indexed session of `size` messages, and per thousand messages indexed."""
        session_id = f"of-{size}"
        said = [_message(message) for row in given for message in row["messages"]]
        await self._append(session_id, islice(cycle(said), size))
        begun = time.perf_counter()
        await self.index.catch_up(TENANT, session_id, batches=size)
        indexing = time.perf_counter() - begun
        questions = [question["question"] for row in given for question in row["qa"]]
        step = max(1, len(questions) // TIMED)
        seconds = [(await self._ask(session_id, question))[1] for question in questions[::step][:TIMED]]
        return {
            "ms_p50": round(1_000 * median(seconds), 2),
            "ms_p95": round(1_000 * quantiles(seconds, n=20)[-1], 2),
            "ms_to_index_1000": round(1_000 * indexing / (size / 1_000), 1),
        }

    async def _append(self, session_id: str, messages: Iterable[Message], user_id: str | None = None) -> list[int]:
        left, seqs = iter(messages), list[int]()
        while part := list(islice(left, _APPEND)):
            origin = f"bench-{len(seqs)}"
            seqs += await self.conversations.append(TENANT, session_id, part, origin=origin, user_id=user_id)
        return seqs

    async def _ask(
        self, session_id: str, question: str, user_id: str | None = None
    ) -> tuple[list[tuple[str, int]], float]:
        """Returns the messages found, best first, and the seconds taken."""
        begun = time.perf_counter()
        found = await self.memory.search(TENANT, session_id, question, limit=max(AT), user_id=user_id)
        seconds = time.perf_counter() - begun
        return [(one.session_id, one.seq) for one in sorted(found, key=lambda one: -one.score)], seconds


def _message(message: Row) -> Message:
    caption = message.get("image_caption")
    text = f"{message['content']}\n{caption}" if caption else message["content"]
    return Message(message["role"], text, name=message.get("name"))


def _questions(seqs: Sequence[int], messages: Sequence[Row]) -> Iterator[tuple[int, str]]:
    """The questions that each message answers, one per attribute, such as "北京的面积是什么？"."""
    for seq, message in zip(seqs, messages, strict=True):
        for attribute in message.get("attrs", ()):
            # `Information` is a whole article; a message may state any part of it.
            if attribute["attrname"] != "Information":
                yield seq, f"{re.split('[（(]', attribute['name'])[0]}的{attribute['attrname']}是什么？"


def together(some: Iterable[Figures]) -> Figures:
    whole = Figures()
    for one in some:
        whole.seconds += one.seconds
        for k, shares in one.shares.items():
            whole.shares[k] += shares
    return whole


def _recalls(figures: dict[str, Figures]) -> Table:
    columns = ["questions of", *(f"R@{k}" for k in AT), "questions", "ms each"]
    cells: list[Sequence[Cell]] = [
        [name, *map(one.recall, AT), len(one.seconds), 1_000 * mean(one.seconds)] for name, one in figures.items()
    ]
    return Table("evidence found, percent", columns, cells)


def _times(timed: dict[int, dict[str, float]]) -> Table:
    columns = ["messages of the session", "search, median ms", "95th percentile", "to index 1,000 messages, ms"]
    return Table("time in Postgres", columns, [(size, *times.values()) for size, times in timed.items()])
