"""The folder of conversations for benchmarks."""

import gzip
import json
from pathlib import Path

import pytest

from purser.benchmarks.data import conversations, rows
from purser.compose.errors import MissingData

CONVERSATION = {"id": "t", "messages": [{"role": "user", "content": "hi"}]}


def _write(file: Path, *found: object) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(file, "wt") as lines:
        lines.writelines(json.dumps(row) + "\n" for row in found)


def test_a_set_is_read_whatever_its_files_are_called(tmp_path: Path) -> None:
    _write(tmp_path / "chats" / "heldout.jsonl.gz", CONVERSATION)
    _write(tmp_path / "chats" / "tool_schemas.jsonl.gz", {"tool": {}})
    assert rows(tmp_path, "chats") == [CONVERSATION]
    assert rows(tmp_path, "chats", having="tool") == [{"tool": {}}]


def test_all_conversations_come_with_the_name_of_their_set(tmp_path: Path) -> None:
    _write(tmp_path / "b" / "dev.jsonl.gz", CONVERSATION, CONVERSATION)
    _write(tmp_path / "a" / "dev.jsonl.gz", CONVERSATION, {"text": "no conversation"})
    (tmp_path / "README.md").write_text("")
    assert list(conversations(tmp_path)) == [("a", CONVERSATION), ("b", CONVERSATION), ("b", CONVERSATION)]


def test_missing_data_is_named_with_the_remedy(tmp_path: Path) -> None:
    for folder, message in (
        (None, "no folder"),
        (tmp_path / "none", "is not a folder"),
        (tmp_path, "no rows with 'spans'"),
    ):
        with pytest.raises(MissingData, match=message) as caught:
            rows(folder, "chats", having="spans")
        assert "--data DIR or PURSER_BENCH_DATA" in caught.value.remedy
