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
from purser.benchmarks.recall.figures import AT, LEAST, OURS, REQUIRED, Figures, Verdict, comparisons
from purser.benchmarks.recall.questions import Corpus, corpora
from purser.benchmarks.recall.speed import Speed, slow
from purser.budget.postgres.connections.pools import Pool
from purser.context.retrieval.postings import Turn

GATED = ("locomo", "bfcl_memory", "memorybank en", "memorybank zh")
"""Sets that take seconds; the others take half a minute, and are far above their baselines."""


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


def verdicts(sets: dict[str, dict[str, Figures]]) -> set[tuple[str, str, Verdict]]:
    return {(one.set_name, one.of, one.verdict) for one in comparisons(sets)}


def test_each_set_is_compared_with_its_best_baseline_at_each_k() -> None:
    perfect = {OURS: figures(True, True), "BM25": figures(True, True), "TF-IDF": figures(True, False)}
    compared = comparisons({"locomo": perfect})
    assert [(one.k, one.of) for one in compared if one.of != REQUIRED] == [(k, "BM25") for k in AT]
    assert [(one.k, one.least) for one in compared if one.of == REQUIRED] == list(LEAST.items())
    assert {one.verdict for one in compared} == {Verdict.REACHED}


def test_a_set_is_missed_where_a_baseline_answers_a_question_more() -> None:
    perfect = {OURS: figures(True, True), "BM25": figures(True, False)}
    worse = {OURS: figures(True, False), "BM25": figures(True, True)}
    assert ("other", "BM25", Verdict.MISSED) in verdicts({"locomo": perfect, "other": worse})


def test_less_than_a_question_is_close_to_a_baseline_but_misses_what_is_required() -> None:
    partly = Figures()
    for evidence in ("a", "ab", "abcde"):
        partly.add(["a", "b", "c"], evidence)
    whole = figures(True, True, True)
    found = [one for one in comparisons({"locomo": {OURS: partly, "BM25": whole}}) if one.k in (5, 10, 25)]
    assert {one.verdict for one in found if one.of == "BM25"} == {Verdict.CLOSE}
    low = {OURS: figures(True, False), "BM25": figures(True, False)}
    assert verdicts({"locomo": low}) == {("locomo", "BM25", Verdict.REACHED), ("locomo", REQUIRED, Verdict.MISSED)}
    [first, *_] = [one for one in comparisons({"locomo": low}) if one.of == REQUIRED]
    assert str(first) == "locomo: R@5 is 50.0, the required recall is 72.0"


def test_baselines_rank_as_they_are_defined() -> None:
    texts = ["tea", "a red bicycle", "tea and a bicycle", "tea", "rain"]
    turns = [Turn("user", None, text, date(2026, 1, 1)) for text in texts]
    ranked = Baselines([turns[:4], turns[4:]]).ranked("red bicycle", 5)
    assert ranked == {"BM25": [1, 2], "BM25 + neighbours": [1, 2, 0, 3], "TF-IDF": [1, 2]}


def test_slow_imports_and_searches_are_reported() -> None:
    assert slow([Speed(20_000, 1.0, 2.0, 5.0, 30.0), Speed(100_000, 9.0, 9.0, 9.0, 20.0)]) == []
    assert len(slow([Speed(20_000, 1.0, 2.1, 5.0, 5.0), Speed(100_000, 9.0, 9.0, 9.0, 20.1)])) == 2


async def missed(pool: Pool, found: dict[str, list[Corpus]]) -> list[str]:
    """What the search misses in these sets."""
    asked = {name: await Bench(pool).asked(name, found[name]) for name in GATED}
    return [str(one) for one in comparisons(asked) if one.verdict is Verdict.MISSED]


@pytest.mark.proof
async def test_also_with_one_conversation_of_locomo_evidence_is_found_more_often_than_by_each_baseline(
    pool: Pool, shared_data: Path
) -> None:
    found = corpora(shared_data)
    assert await missed(pool, found | {"locomo": found["locomo"][:1]}) == []


@pytest.mark.proof
async def test_evidence_is_found_more_often_than_by_each_baseline(pool: Pool, shared_data: Path) -> None:
    assert await missed(pool, corpora(shared_data)) == []


@pytest.mark.stack
def test_a_folder_with_locomo_alone_will_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "purser.benchmarks")
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
    assert caplog.messages[1:] == ["10 messages in one session", "20 messages in one session", "questions of locomo"]
