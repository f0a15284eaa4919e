"""The folder of conversations that benchmarks measure on."""

import gzip
import json
from pathlib import Path

import pytest

from purser.benchmarks.data import conversations, rows
from purser.compose.errors import MissingData

TALK = {"id": "t", "messages": [{"role": "user", "content": "hi"}]}


def _write(file: Path, *found: object) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(file, "wt") as lines:
        lines.writelines(json.dumps(row) + "\n" for row in found)


def test_a_set_is_read_whatever_its_files_are_called(tmp_path: Path) -> None:
    _write(tmp_path / "talks" / "heldout.jsonl.gz", TALK)
    _write(tmp_path / "talks" / "tool_schemas.jsonl.gz", {"tool": {}})
    assert rows(tmp_path, "talks") == [TALK]
    assert rows(tmp_path, "talks", having="tool") == [{"tool": {}}]


def test_all_conversations_come_with_the_name_of_their_set(tmp_path: Path) -> None:
    _write(tmp_path / "b" / "dev.jsonl.gz", TALK, TALK)
    _write(tmp_path / "a" / "dev.jsonl.gz", TALK, {"text": "no conversation"})
    (tmp_path / "README.md").write_text("")
    assert list(conversations(tmp_path)) == [("a", TALK), ("b", TALK), ("b", TALK)]


def test_what_is_missing_is_named_with_the_remedy(tmp_path: Path) -> None:
    for folder, said in ((None, "no folder"), (tmp_path / "none", "is no folder"), (tmp_path, "no rows with 'spans'")):
        with pytest.raises(MissingData, match=said) as caught:
            rows(folder, "talks", having="spans")
        assert "--data DIR or PURSER_BENCH_DATA" in caught.value.remedy
