"""The benchmark of memory, and what it must show on real conversations."""

import gzip
import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from purser.benchmarks import memory
from purser.benchmarks.memory import Bench
from purser.benchmarks.recall import speed
from purser.benchmarks.recall.baselines import Baselines
from purser.benchmarks.recall.figures import LEAST, OURS, Figures, shortfalls
from purser.benchmarks.recall.questions import corpora
from purser.benchmarks.recall.speed import Speed, slow
from purser.budget.postgres.connections.pools import Pool
from purser.context.retrieval.postings import Turn


def figures(*found: bool) -> Figures:
    whole = Figures()
    for one in found:
        whole.add(["a"] if one else [], ["a"])
    return whole


def test_recall_is_the_share_of_evidence_among_the_first_k() -> None:
    whole = Figures()
    whole.add(["a", "x", "y", "z", "b"], ["a", "b"])
    whole.add([], [])
    assert [whole.recall(k) for k in (1, 5)] == [75.0, 100.0]
    assert whole.results()["questions"] == 2


def test_a_set_falls_short_where_a_baseline_answers_a_question_more() -> None:
    perfect = {OURS: figures(True, True), "BM25": figures(True, False)}
    assert shortfalls({"locomo": perfect}) == []
    worse = shortfalls({"locomo": perfect, "other": {OURS: figures(True, False), "BM25": figures(True, True)}})
    assert worse == [f"other: R@{k} is 50.0, BM25 reaches 100.0" for k in (5, 10, 25)]
    low = {OURS: figures(True, False), "BM25": figures(True, False)}
    assert shortfalls({"locomo": low}) == [f"locomo: R@{k} is 50.0, it must be {least}" for k, least in LEAST.items()]


def test_baselines_rank_as_they_are_defined() -> None:
    texts = ["tea", "a red bicycle", "tea and a bicycle", "tea", "rain"]
    turns = [Turn("user", None, text, date(2026, 1, 1)) for text in texts]
    ranked = Baselines([turns[:4], turns[4:]]).ranked("red bicycle", 5)
    assert ranked == {"BM25": [1, 2], "BM25 + neighbours": [1, 2, 0, 3], "TF-IDF": [1, 2]}


def test_slow_imports_and_searches_are_reported() -> None:
    assert slow([Speed(20_000, 1.0, 2.0, 5.0, 30.0), Speed(100_000, 9.0, 9.0, 9.0, 20.0)]) == []
    assert len(slow([Speed(20_000, 1.0, 2.1, 5.0, 5.0), Speed(100_000, 9.0, 9.0, 9.0, 20.1)])) == 2


async def test_evidence_is_found_more_often_than_by_each_baseline(pool: Pool, shared_data: Path) -> None:
    found = corpora(shared_data)
    asked = {name: await Bench(pool).asked(name, found[name]) for name in ("locomo", "bfcl_memory")}
    assert shortfalls(asked) == []


@pytest.mark.stack
def test_a_folder_with_locomo_alone_will_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speed, "SIZES", (10, 20))
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
    assert outcome.results["missed"]["speed"] == []
    locomo = outcome.results["locomo"][OURS]
    assert (locomo["R@1"], locomo["R@50"], locomo["questions"]) == (83.3, 83.3, 3)
    assert [one["messages"] for one in outcome.results["postgres"]] == [10, 20]
