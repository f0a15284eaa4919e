"""`purser bench`, ended early: by ctrl-C, by a supervisor, and with its terminal. Nothing of it remains."""

import signal
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from tests.support.servers.purser import Purser, processes_naming
from tests.support.servers.terminal import Terminal

TIMEOUT_S = 120


@pytest.fixture
def folder() -> Iterator[Path]:
    """A place for temporary files with a path that is short enough for sockets of Postgres."""
    with tempfile.TemporaryDirectory(prefix="p-") as path:
        yield Path(path)


@pytest.fixture
def purser(tmp_path: Path, folder: Path) -> Purser:
    found = Purser.at(tmp_path)
    return replace(found, env={**found.env, "TMPDIR": str(folder)})


@pytest.mark.stack
@pytest.mark.parametrize(
    ("benchmark", "number", "moment"),
    [
        pytest.param("ledger", signal.SIGTERM, "1 callers, not batched", id="supervisor"),
        pytest.param("ledger", signal.SIGHUP, "starting Postgres", id="terminal closed"),
        pytest.param("http", signal.SIGTERM, "connections in closed loops", id="all servers", marks=pytest.mark.proof),
    ],
)
def test_a_signal_stops_and_removes_everything(
    purser: Purser, folder: Path, benchmark: str, number: signal.Signals, moment: str
) -> None:
    log = purser.home / "stderr.log"
    with log.open("wb") as stderr:
        process = purser.spawn("bench", benchmark, stderr=stderr)
    assert process.stdout is not None
    with process.stdout as out:
        give_up = time.monotonic() + TIMEOUT_S
        while moment not in log.read_text():
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < give_up, log.read_text()
            time.sleep(0.05)
        started = psutil.Process(process.pid).children(recursive=True)
        # As `timeout` sends it.
        process.send_signal(number)
        process.send_signal(number)
        assert process.wait(TIMEOUT_S) == 1, log.read_text()
        assert out.read() == ""
    assert log.read_text().endswith(f"Interrupted: {number.name} ended the command\n")
    assert not [one for one in started if one.is_running() and one.status() != psutil.STATUS_ZOMBIE]
    assert (processes_naming(folder), list(folder.iterdir())) == ([], [])


@pytest.mark.stack
@pytest.mark.proof
def test_ctrl_c_cuts_off_the_processes_that_send_requests_without_a_trace(purser: Purser, folder: Path) -> None:
    with Terminal.running(purser, "bench", "scale", "--seconds", "600") as terminal:
        terminal.wait_for(r"\d s  scale +sessions: 1\n")
        terminal.interrupt()
        time.sleep(0.2)
        terminal.interrupt()  # a second one cuts off no clean-up
        assert terminal.ended() == 1
    assert terminal.text.endswith("Interrupted: ctrl-C ended the command\n")
    assert "Traceback" not in terminal.text, terminal.text
    assert (processes_naming(folder), list(folder.iterdir())) == ([], [])
