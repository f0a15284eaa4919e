"""The `purser` command, forked from a process that has imported what it needs: a real process at a fifth of the cost.

What a start from nothing does is shown with `Purser` instead: `up` and `gateway` in `tests/compose/processes`, `worker`
in `tests/compose/telemetry/test_metrics.py`, `demo` in `tests/compose/demo`.
"""

import json
import os
import signal
import socket
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

from tests.support.servers.purser import Purser
from tests.support.shared import Stop

LONGEST = 2**17
"""Bytes of a request."""
COLD = "cold"
"""The argument of a process that imports nothing ahead."""
ROOT = Path(__file__).parents[3]


class ForkedProcess:
    """What `subprocess.Popen` offers for a child of its own."""

    def __init__(self, server: str, request: bytes, stdin: int, stdout: int, stderr: int) -> None:
        self._keeper = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._keeper.connect(server)
        socket.send_fds(self._keeper, [request], [stdin, stdout, stderr])
        self.pid = int(self._keeper.recv(LONGEST))
        self.stdout: IO[str] | None = None
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """The exit code, if it has ended."""
        try:
            return self.wait(0)
        except subprocess.TimeoutExpired:
            return None

    def wait(self, timeout: float | None = None) -> int:
        """The exit code, once it has ended; negative: the signal that ended it."""
        if self.returncode is None:
            self._keeper.settimeout(timeout)
            try:
                self.returncode = int(self._keeper.recv(LONGEST))
            except (TimeoutError, BlockingIOError):
                raise subprocess.TimeoutExpired("purser", timeout or 0) from None
            self._keeper.close()
        return self.returncode

    def send_signal(self, sig: int) -> None:
        """Signal it, if it has not ended."""
        if self.poll() is None:
            os.kill(self.pid, sig)

    def kill(self) -> None:
        """End it without a chance to tidy up."""
        self.send_signal(signal.SIGKILL)


@dataclass(frozen=True)
class Forks:
    """The process that forks commands."""

    address: str

    def purser(self, home: Path, **settings: str) -> "Forked":
        """Commands with `home` as the place of all state, as of `Purser.at`."""
        return Forked(home, Purser.at(home, **settings).env, self.address)


@dataclass(frozen=True)
class Forked(Purser):
    """Runs commands as forks."""

    server: str

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        with TemporaryFile() as nothing, TemporaryFile() as out, TemporaryFile() as err:
            process = self._fork(arguments, nothing.fileno(), out.fileno(), err.fileno())
            code = process.wait(120)
            for file in (out, err):
                file.seek(0)
            return subprocess.CompletedProcess(arguments, code, out.read().decode(), err.read().decode())

    def spawn(self, *arguments: str, stderr: IO[bytes]) -> ForkedProcess:
        ours, theirs = os.pipe()
        try:
            with TemporaryFile() as nothing:
                process = self._fork(arguments, nothing.fileno(), theirs, stderr.fileno())
        finally:
            os.close(theirs)
        process.stdout = os.fdopen(ours, encoding="utf-8")
        return process

    def attach(self, *arguments: str, terminal: int) -> ForkedProcess:
        return self._fork(arguments, terminal, terminal, terminal)

    def _fork(self, arguments: tuple[str, ...], stdin: int, stdout: int, stderr: int) -> ForkedProcess:
        request = {"arguments": arguments, "env": dict(self.env), "cwd": str(self.home)}
        return ForkedProcess(self.server, json.dumps(request).encode(), stdin, stdout, stderr)


def start_forks(folder: Path, *, warm: bool = True) -> tuple[str, Stop]:
    """Start the process that forks; returns its address and how to stop it."""
    address = str(folder / "forks.socket")
    command = [sys.executable, "-m", "tests.support.servers.fork_server", address, *([] if warm else [COLD])]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE)
    assert process.stdout is not None
    with process.stdout as said:
        assert said.readline() == b"ready\n"

    def stop() -> None:
        process.terminate()
        process.wait()
        Path(address).unlink()  # a worker that asks only now starts it again

    return address, stop
