"""Explanations of failed and refused agents, and the help of a command line without a command."""

from typing import Any

import pytest

from purser.compose.cli import main
from purser.compose.cli.api.reasons import why
from purser.compose.cli.api.tasks import print_task
from tests.compose.cli.test_hostile_text import AGENT

BUDGET = {
    "scope": "task:t", "mode": "hard", "window": "lifetime", "frozen": False,
    "shadow": False, "pressure": "high", "ratio": 0.9,
    "limit_tokens": 1_000, "limit_nano_usd": None, "sources": {},
    "tokens": {"spent": 850, "held": 50, "granted": 0, "overrun": 0, "headroom": 100},
    "nano_usd": {"spent": 0, "held": 0, "granted": 0, "overrun": 0, "headroom": None},
}  # fmt: skip


def task(**agent: Any) -> dict[str, Any]:
    """A task of one agent, as the API shows it."""
    shown = AGENT | {"reply": None, "refusal": None, "shortfall": None} | agent
    return {
        "task_id": "t", "status": "failed", "session_id": "s", "agents": {"a": shown}, "scopes": {"task:t": BUDGET},
        "context": None,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("reason", "settings"),
    [
        ("authentication", ["PURSER_PROVIDER_KEYS"]),
        ("provider_not_allowed", ["PURSER_ALLOWED_PROVIDERS", "`api_base`"]),
    ],
)
def test_what_keeps_a_worker_from_asking_is_named_with_the_setting(reason: str, settings: list[str]) -> None:
    [line] = why(task(status="failed", reason=reason))
    assert line.startswith(f"a failed: {reason}. ")
    assert all(one in line for one in settings)


def test_a_refusal_shows_the_figures_and_the_remedy_of_the_api() -> None:
    refusal = {"text": "task:t may spend 1,000 tokens.", "remedy": "Ask for less."}
    [line] = why(task(status="refused", reason="limit", scope="task:t", refusal=refusal))
    assert line == "a refused: limit. task:t may spend 1,000 tokens. Ask for less."


def test_a_window_that_is_too_small_shows_the_figures_of_the_api() -> None:
    shortfall = {"budget": 60, "parts": {"input": 90}, "text": "a context budget of 60 tokens is too small: input 90"}
    [line] = why(task(status="failed", reason="WindowTooSmall", shortfall=shortfall))
    assert line == "a failed: WindowTooSmall. A context budget of 60 tokens is too small: input 90."
    [line] = why(task(status="failed", reason="WindowTooSmall", shortfall=None))
    assert "smaller input" in line


@pytest.mark.parametrize("status", ["failed", "refused"])
def test_an_unknown_reason_is_shown_with_a_place_to_look(status: str) -> None:
    [line] = why(task(status=status, reason="NewTrouble", scope="agent:t/a" if status == "refused" else ""))
    assert "NewTrouble" in line
    assert "log of the worker" in line or "purser budget show agent:t/a" in line


def test_an_agent_that_completed_needs_no_reason(capsys: pytest.CaptureFixture[str]) -> None:
    assert not [*why(task(status="completed", reason="max_turns"))]
    print_task(task(status="failed", reason="authentication"))
    assert "a failed: authentication. " in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [[], ["keys"]])
def test_without_a_command_the_help_is_shown_and_nothing_else(
    arguments: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["purser", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    shown = capsys.readouterr()
    assert ended.value.code == 2
    assert "Usage: purser" in shown.out + shown.err
    assert "Bad usage" not in shown.out + shown.err
