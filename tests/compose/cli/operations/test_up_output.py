"""What `purser up` prints when it runs, on a terminal and under a supervisor."""

import io
from pathlib import Path

import pytest

from purser.compose.cli.operations import up
from purser.compose.cli.output import SafeConsole
from purser.compose.processes.up_file import Running
from purser.compose.temporal import CORE_LOGS

RUNNING = Running("http://127.0.0.1:1", "127.0.0.1:2", None, "postgresql:///x", "purser_secret", 1)
LINK = "http://127.0.0.1:1/sign-in#once"


def printed(monkeypatch: pytest.MonkeyPatch, *, terminal: bool) -> str:
    file = io.StringIO()
    monkeypatch.setattr(up, "out", SafeConsole(file=file, force_terminal=terminal, highlight=False, soft_wrap=True))
    up._show(RUNNING, LINK, Path("/data"))
    return file.getvalue()


def test_a_terminal_shows_the_key_and_the_link(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = printed(monkeypatch, terminal=True)
    assert "purser_secret" in shown
    assert LINK in shown


def test_a_supervisor_reads_where_they_are_and_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = printed(monkeypatch, terminal=False)
    assert "purser_secret" not in shown
    assert "#once" not in shown
    assert "/data/up.json" in shown
    assert "purser sign-in --data /data" in shown


def test_the_core_of_temporal_logs_where_python_does(capfd: pytest.CaptureFixture[str]) -> None:
    assert CORE_LOGS.forwarding is not None
    CORE_LOGS.forwarding.logger.warning("poll failed")
    assert "poll failed" not in capfd.readouterr().out
