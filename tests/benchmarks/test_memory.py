"""The benchmark of memory, and what it must show on real conversations."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from purser.benchmarks import memory
from purser.benchmarks.data import rows
from purser.benchmarks.memory import Bench, Figures, together
from purser.budget.postgres.connections.pools import Pool
from purser.context.postgres.conversation.conversations import Conversations
from purser.context.postgres.memory.index import MemoryIndex
from purser.context.postgres.memory.memory import Memory


def test_recall_is_the_share_of_evidence_among_the_first_k() -> None:
    figures = Figures()
    figures.add(["a", "x", "y", "z", "b"], ["a", "b"], 0.001)
    figures.add([], [], 0.003)
    assert [figures.recall(k) for k in (1, 5)] == [75.0, 100.0]
    assert figures.results()["ms_per_query"] == 2.0


async def test_evidence_is_found_at_least_as_often_as_by_the_baseline(pool: Pool, shared_data: Path) -> None:
    bench = Bench(Conversations(pool), Memory(pool), MemoryIndex(pool))
    found = together([await bench.conversation(row) for row in rows(shared_data, "locomo")])
    assert found.passes(), found.results()


@pytest.mark.stack
def test_a_folder_with_locomo_alone_will_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "SIZES", (10, 20))
    say = [f"My {thing} is {colour}." for thing, colour in (("bicycle", "red"), ("house", "blue"), ("boat", "green"))]
    row: dict[str, Any] = {
        "id": "c1",
        "messages": [
            {"role": "user", "name": "Ann", "content": text, "turn_id": f"D1:{number}", "image_caption": "a photo"}
            for number, text in enumerate(say)
        ],
        "qa": [
            {"question": "What colour is the house of Ann?", "evidence": ["D1:1"]},
            {"question": "What did nobody say?", "evidence": []},
            {"question": "Which boat?", "evidence": ["D1:2", "D9:9"]},
        ],
    }
    (tmp_path / "locomo").mkdir()
    (tmp_path / "locomo" / "any.jsonl.gz").write_bytes(gzip.compress(json.dumps(row).encode()))
    outcome = memory.run(tmp_path)
    assert outcome.gate_passed
    locomo = outcome.results["locomo"]
    assert (locomo["R@1"], locomo["R@50"], locomo["queries"]) == (83.3, 83.3, 3)
    assert set(outcome.results["postgres"]) == {"10", "20"}
