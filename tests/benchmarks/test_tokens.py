"""The benchmark of token counts, on a small made-up data set."""

import gzip
import json
from pathlib import Path

import pytest

from purser.benchmarks import tokens
from purser.benchmarks.tokens import EXACT, OURS, run

CALL = {"id": "c1", "type": "function", "function": {"name": "find_flight", "arguments": '{"to": "Haven 7"}'}}
ENGLISH = [
    {"role": "user", "content": "Is there a flight to Haven on the seventh of May, and what would it cost us?"},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "content": "There are two of them, one in the morning and one at night."},
]
CHINESE = [{"role": "user", "content": "你今天想去哪里吃饭？我知道附近有一家不错的面馆，不过周末人比较多。"}]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    for name, language, messages in (("flights", "en", ENGLISH), ("food", "zh", CHINESE)):
        (tmp_path / name).mkdir()
        with gzip.open(tmp_path / name / "other.jsonl.gz", "wt") as file:
            file.write(json.dumps({"id": "1", "lang": language, "messages": messages}) + "\n")
    return tmp_path


def test_it_compares_exact_counts_formula_and_rules_of_thumb_by_set_and_language(data: Path) -> None:
    found = run(data)
    for vocabulary in ("cl100k_base", "o200k_base"):
        groups = {(group["set"], group["language"]): group for group in found.results[vocabulary]["groups"]}
        assert groups.keys() == {("flights", "en"), ("food", "zh")}
        assert {group["bias"][EXACT] for group in groups.values()} == {0.0}
        overall = found.results[vocabulary]["overall"]
        assert overall[EXACT] == {"mean": 0, "macro": 0, "worst": 0, "under": 0}
        assert overall[OURS]["worst"] < overall["optimizer"]["worst"]
    assert len(found.tables) == 4


def test_an_exact_count_that_is_one_off_fails_the_gate(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "MOST_MEAN", 100.0)
    monkeypatch.setattr(tokens, "MOST_WORST", 100.0)
    assert run(data).gate_passed
    monkeypatch.setattr(tokens, "PER_CONVERSATION", 4)
    assert not run(data).gate_passed


def test_a_formula_that_is_too_far_off_fails_the_gate(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "MOST_MEAN", 0.0)
    assert not run(data).gate_passed
