"""Files of conversations and text, as commands read them."""

import json
from pathlib import Path
from typing import Any

import pytest

from purser.compose.cli.context.conversation_file import ConversationFile, read_file
from purser.compose.errors import UnreadableFile
from purser.context.conversation.messages import Message

MESSAGES: list[dict[str, Any]] = [
    {"role": "user", "content": "Where is it?", "pinned": True},
    {"role": "assistant", "content": None, "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "find", "arguments": "{}"}}]},
    {"role": "tool", "content": "here", "tool_call_id": "c1", "name": "find"},
]  # fmt: skip


def _write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_an_array_and_lines_of_messages_are_the_same_conversation(tmp_path: Path) -> None:
    array = _write(tmp_path / "a.json", json.dumps(MESSAGES, indent=1))
    lines = _write(tmp_path / "a.jsonl", "\n\n".join(json.dumps(message) for message in MESSAGES) + "\r\n")
    assert (
        read_file(array)
        == read_file(lines)
        == ConversationFile([Message.parse(message) for message in MESSAGES], MESSAGES)
    )


def test_any_other_file_is_text(tmp_path: Path) -> None:
    assert read_file(_write(tmp_path / "a.md", "[] 你好\u2028")) == "[] 你好\u2028"


def test_unknown_fields_are_ignored_and_remain_in_the_original(tmp_path: Path) -> None:
    message = {"role": "user", "content": "hi\u2028there", "turn_id": "D1:1"}
    found = read_file(_write(tmp_path / "a.jsonl", json.dumps(message, ensure_ascii=False)))
    assert found == ConversationFile([Message("user", "hi\u2028there")], [message])


def test_an_empty_file_is_an_empty_conversation(tmp_path: Path) -> None:
    assert read_file(_write(tmp_path / "a.jsonl", "")) == ConversationFile([], [])


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.json", "{}", "is a JSON object"),
        ("a.json", '[\n{"role": "user" "content"}]', "line 2, column 17"),
        ("a.jsonl", '{"role": "user", "content": "hi"}\n\n{"role": "bot"}', "line 3: message 1, field 'role'"),
        ("a.jsonl", '{"role": "user", "content": 7}', "line 1: message 0, field 'content'"),
        ("a.jsonl", "secret", "line 1: is not JSON"),
        ("a.jsonl", "[" * 100_000, "line 1: is nested too deeply"),
        ("a.json", '["secret"]', "message 0: is a str"),
        ("a.json", '[{"role": "user", "content": "hi", "created_at": "secret"}]', "message 0, field 'created_at'"),
        ("a.json", '[{"role": "user", "content": "hi", "created_at": "2999-01-01T00:00:00Z"}]', "lies in the future"),
    ],
)
def test_an_invalid_file_is_an_error_with_line_and_field_and_never_its_text(
    tmp_path: Path, name: str, text: str, message: str
) -> None:
    with pytest.raises(UnreadableFile) as caught:
        read_file(_write(tmp_path / name, text))
    assert message in str(caught.value)
    assert "secret" not in str(caught.value)
    assert caught.value.remedy


@pytest.mark.parametrize("content", [None, b"\xff\xfe\x00"])
def test_a_file_that_cannot_be_read_says_why(tmp_path: Path, content: Any) -> None:
    if content:
        (tmp_path / "a.txt").write_bytes(content)
    with pytest.raises(UnreadableFile, match=r"a\.txt' (is not UTF-8|cannot be read: No such file)"):
        read_file(tmp_path / "a.txt")


def test_a_log_may_leave_out_which_call_a_tool_message_answers(tmp_path: Path) -> None:
    found = read_file(_write(tmp_path / "a.json", json.dumps([{"role": "tool", "content": "4", "name": "terminal"}])))
    assert found == ConversationFile(
        [Message("tool", "4", name="terminal")], [{"role": "tool", "content": "4", "name": "terminal"}]
    )
