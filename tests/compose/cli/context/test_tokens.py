"""`purser tokens`, as a user runs it: without any running system."""

import json
from pathlib import Path

import pytest

from tests.support.servers.commands import Commands

CALL = {"id": "c1", "type": "function", "function": {"name": "find", "arguments": '{"id": 7}'}}
MESSAGES = [
    {"role": "user", "content": "hello world"},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "content": "hello world"},
]


@pytest.fixture
def purser(tmp_path: Path) -> Commands:
    return Commands.at(tmp_path)


def test_a_conversation_is_counted_with_the_overhead_of_its_messages(purser: Commands, tmp_path: Path) -> None:
    (tmp_path / "talk.json").write_text(json.dumps(MESSAGES))
    counted = purser.json("tokens", "talk.json", "--model", "gpt-4o")
    content = 2 + 7 + 2
    assert counted == {
        "content_tokens": content,
        "tokens": content + 3 * 4 + 3,
        "method": "tiktoken",
        "encoding": "o200k_base",
    }


def test_a_text_is_counted_alone(purser: Commands, tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("hello world")
    counted = purser.json("tokens", "note.txt", "--model", "claude-sonnet-4-5")
    assert counted == {"content_tokens": 3, "tokens": 3, "method": "tiktoken", "encoding": "cl100k_base+30%"}


def test_fast_uses_the_formula(purser: Commands, tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("hello world")
    assert purser.json("tokens", "note.txt", "--model", "gpt-4", "--fast")["method"] == "formula"


def test_a_bad_file_is_a_problem_that_names_line_and_field(purser: Commands, tmp_path: Path) -> None:
    (tmp_path / "talk.jsonl").write_text('{"role": "user", "content": "hi"}\n{"role": "user", "content": 7}\n')
    problem = purser.json("tokens", "talk.jsonl", "--model", "gpt-4o", code=1)
    assert problem["type"] == "urn:purser:unreadable-file"
    assert (
        problem["detail"]
        == "talk.jsonl, line 2: message 1, field 'content': is a int, it must be text or a list of parts"
    )


@pytest.mark.parametrize("words", [["tokens"], ["window", "--budget", "100"], ["compress", "--budget", "100"]])
def test_an_unknown_setting_is_an_error_that_names_it(tmp_path: Path, words: list[str]) -> None:
    (tmp_path / "talk.json").write_text(json.dumps(MESSAGES))
    problem = Commands.at(tmp_path, tokns="5").json(*words, "talk.json", "--model", "gpt-4o", code=1)
    assert problem["title"] == "Settings error"
    assert "PURSER_TOKNS" in problem["detail"]


def test_people_see_the_same_figures(purser: Commands, tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("hello world")
    assert purser.run("tokens", "note.txt", "--model", "gpt-4o").stdout.splitlines() == [
        "2 tokens, 2 of them content",
        "counted by tiktoken, o200k_base: exact",
    ]
