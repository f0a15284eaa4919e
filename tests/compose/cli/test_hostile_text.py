"""Hostile text on a terminal: its control characters are shown, never interpreted."""

import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from purser.budget.usage import COUNTS
from purser.compose.cli import output
from purser.compose.cli.api import approvals
from purser.compose.cli.api.tasks import print_task
from purser.compose.cli.output import SafeConsole, fail, print_json

HOSTILE = "\x1b[2Jgone\x1b]0;title\x07 \x9b31m \u202eright to left\u2066 \r\n\ttab \ud83d"
OBEYED = set("\x1b\x07\x9b\u202e\u2066\r\ud83d")
NONE: dict[str, Any] = {"tokens": 0, "nano_usd": 0}
AGENT = {
    "status": "completed", "reply": HOSTILE, "turns": 1, "nano_usd": 0, "holds": 1, "delay_ms": 0, "approvals": 0,
    "overrun": 0, "reason": "", "scope": "",
    "usage": dict.fromkeys(COUNTS, 1),
}  # fmt: skip


def test_a_console_passes_on_its_own_styles_and_nothing_of_the_text() -> None:
    file = io.StringIO()
    SafeConsole(file=file, force_terminal=True, highlight=False, color_system="standard").print(HOSTILE, style="red")
    text = file.getvalue()
    assert text.startswith("\x1b[31m")
    assert "\x1b[2J" not in text
    assert not (OBEYED - {"\x1b"}) & set(text)
    assert "gone" in text


def test_a_reply_cannot_steer_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    task = {"task_id": "t", "status": "completed", "session_id": "s", "agents": {"a": AGENT}, "scopes": {}}
    print_task(task | {"context": None})
    shown = capsys.readouterr().out
    assert not OBEYED & set(shown)
    assert "right to left" in shown


def test_a_note_and_names_cannot_steer_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    decision = {
        "decision": "approve", "approver": HOSTILE, "at": "now", "note": HOSTILE, "ticket_url": HOSTILE,
        "grant_tokens": 1, "grant_nano_usd": 0, "until": None,
    }  # fmt: skip
    waiter = {"task_id": HOSTILE, "agent_id": "a", "submitter": HOSTILE, "tokens": 1, "since": "now"}
    last_input = {"role": HOSTILE, "text": HOSTILE}
    tool = {"name": HOSTILE, "arguments": HOSTILE}
    purpose = {"input": HOSTILE, "instructions": HOSTILE, "last_input": last_input, "tool": tool}
    effect = {
        "grant_tokens": 1, "grant_nano_usd": 1, "admitted": 1, "asking": 0, "waiting": 0, "refused": 0,
        "ratio": 1.0, "delay_ms": 1, "slowed_by": HOSTILE,
    }  # fmt: skip
    approvals._print(
        {
            "approval_id": "1", "state": "denied", "scope": "task:t", "asked": NONE, "deadline": "now",
            "tokens": {"spent": 0, "held": 0, "granted": 0}, "limit_tokens": 1, "limit_nano_usd": None,
            "rules": {"on_expiry": "deny"},
            "task_id": HOSTILE, "waiters": [waiter], "purposes": [purpose], "decisions": [decision],
            "effects": {"shortage": effect, "without_delay": effect},
            "related": [],
        }
    )  # fmt: skip
    shown = capsys.readouterr().out
    assert not OBEYED & set(shown)
    assert shown.count("gone") == 14


def test_a_problem_cannot_steer_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    fail({"title": HOSTILE, "detail": HOSTILE, "remedy": HOSTILE}, as_json=False)
    assert not OBEYED & set(capsys.readouterr().err)


@given(st.dictionaries(st.text(), st.text(st.characters(exclude_categories=())), max_size=4))
def test_json_says_the_same_in_escapes(document: dict[str, str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        file = io.StringIO()
        patch.setattr("sys.stdout", file)
        print_json(document)
    line = file.getvalue()
    assert json.loads(line) == json.loads(json.dumps(document))
    assert output._HIDDEN.search(line) is None
