"""`purser redact`: texts and conversations."""

import json
from pathlib import Path

import pytest

from tests.support.servers.commands import Commands

MESSAGES = [
    {"role": "user", "content": "I am jane@example.com, card 4111 1111 1111 1111", "pinned": True},
    {"role": "assistant", "content": None, "tool_calls": [
        {"id": "call_1", "type": "function",
         "function": {"name": "book", "arguments": '{"mail": "JANE@example.com"}'}}]},
    {"role": "tool", "tool_call_id": "call_1", "content": "booked for 2024-05-20"},
    {"role": "user", "content": [{"type": "text", "text": "密码：Abc12345"}], "meta": {"password": "swordfish"}},
]  # fmt: skip


@pytest.fixture
def purser(tmp_path: Path) -> Commands:
    return Commands.at(tmp_path)


def test_a_text_is_printed_redacted_with_the_counts_of_its_labels(purser: Commands, tmp_path: Path) -> None:
    file = tmp_path / "note.txt"
    file.write_text("To jane@example.com and\nback, jane@example.com: call +1 415 555 0132 on 2024-05-20\n")
    printed = purser.json("redact", str(file))
    assert printed == {
        "text": "To [EMAIL_1] and\nback, [EMAIL_1]: call [PHONE_1] on 2024-05-20\n",
        "counts": {"EMAIL": 2, "PHONE": 1},
    }
    shown = purser.run("redact", str(file))
    assert shown.stdout == printed["text"]
    assert shown.stderr == "replaced: EMAIL 2, PHONE 1\n"


@pytest.mark.parametrize("kind", ["json", "jsonl"])
def test_a_conversation_stays_one_with_every_text_in_it_redacted(purser: Commands, tmp_path: Path, kind: str) -> None:
    file = tmp_path / f"talk.{kind}"
    file.write_text(json.dumps(MESSAGES) if kind == "json" else "\n".join(map(json.dumps, MESSAGES)))
    printed = purser.json("redact", str(file))
    lines = printed["text"].splitlines()
    messages = json.loads(printed["text"]) if kind == "json" else [json.loads(line) for line in lines]
    assert messages[0] == {"role": "user", "content": "I am [EMAIL_1], card [CARD_1]", "pinned": True}
    assert messages[1]["tool_calls"][0]["function"]["arguments"] == '{"mail": "[EMAIL_1]"}'
    assert messages[2] == MESSAGES[2]
    assert messages[3]["content"][0]["text"] == "密码：[SECRET_1]"
    assert messages[3]["meta"] == {"password": "[SECRET_2]"}
    assert printed["counts"] == {"EMAIL": 2, "CARD": 1, "SECRET": 2}
    again = tmp_path / f"again.{kind}"
    again.write_text(printed["text"])
    assert purser.json("redact", str(again)) == {"text": printed["text"], "counts": {}}


def test_configured_patterns_are_replaced_too(tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("E123456 called")
    purser = Commands.at(tmp_path, redaction_patterns='{"EMPLOYEE": "E[0-9]{6}"}')
    assert purser.json("redact", "note.txt") == {"text": "[EMPLOYEE_1] called", "counts": {"EMPLOYEE": 1}}


@pytest.mark.parametrize(
    ("patterns", "fault"),
    [('{"EMPLOYEE": "("}', "pattern of EMPLOYEE"), ('{"employee": "x"}', "'employee'"), ("[", "not valid JSON")],
)
def test_a_bad_pattern_is_a_settings_error_that_names_it(tmp_path: Path, patterns: str, fault: str) -> None:
    (tmp_path / "note.txt").write_text("E123456 called")
    problem = Commands.at(tmp_path, redaction_patterns=patterns).json("redact", "note.txt", code=1)
    assert problem["title"] == "Settings error"
    assert "PURSER_REDACTION_PATTERNS" in problem["detail"]
    assert fault in problem["detail"]


def test_a_file_that_is_not_there_is_bad_usage(purser: Commands) -> None:
    purser.json("redact", "nothing.txt", code=2)


def test_half_a_surrogate_pair_comes_back_as_the_escape_that_it_was(purser: Commands, tmp_path: Path) -> None:
    (tmp_path / "odd.json").write_text('[{"role": "user", "content": "odd \\ud800 ana@example.com"}]')
    printed = json.loads(purser.json("redact", str(tmp_path / "odd.json"))["text"])
    assert printed[0]["content"] == "odd \ud800 [EMAIL_1]"
