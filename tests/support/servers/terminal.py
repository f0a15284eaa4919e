"""A command in a pseudo-terminal, with its output and key presses."""

import os
import pty
import re
import select
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Self

from tests.support.servers.purser import Purser

TIMEOUT_S = 180
_CODES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class Terminal:
    """A terminal of 100 columns that runs one command."""

    def __init__(self, purser: Purser, *arguments: str) -> None:
        self._written = b""
        self._ours, theirs = pty.openpty()
        env = {**purser.env, "TERM": "xterm-256color", "COLUMNS": "100", "LINES": "40"}
        self._process = replace(purser, env=env).attach(*arguments, terminal=theirs)
        os.close(theirs)

    @classmethod
    @contextmanager
    def running(cls, purser: Purser, *arguments: str) -> Iterator[Self]:
        """Runs the command until the context ends."""
        terminal = cls(purser, *arguments)
        try:
            yield terminal
        finally:
            if terminal._process.poll() is None:
                terminal.interrupt()
            terminal.ended()
            os.close(terminal._ours)

    @property
    def text(self) -> str:
        """All output so far, without escape codes; a read may end within a code or a character."""
        return _CODES.sub("", self._written.decode(errors="replace")).replace("\r", "")

    def wait_for(self, pattern: str) -> re.Match[str]:
        """Reads until the output matches `pattern`; returns the match."""
        give_up = time.monotonic() + TIMEOUT_S
        while (found := re.search(pattern, self.text)) is None:
            assert time.monotonic() < give_up, f"no {pattern!r} in:\n{self.text}"
            assert self._read() or self._process.poll() is None, f"it ended without {pattern!r}:\n{self.text}"
        return found

    def press(self, key: str) -> None:
        """Presses a key."""
        os.write(self._ours, key.encode())

    def interrupt(self) -> None:
        """Presses ctrl-C."""
        os.killpg(self._process.pid, signal.SIGINT)

    def hang_up(self) -> None:
        """Sends what a process gets when its terminal is closed. The output stays readable."""
        os.killpg(self._process.pid, signal.SIGHUP)

    def ended(self) -> int:
        """Reads until the command ends; returns the exit code."""
        give_up = time.monotonic() + TIMEOUT_S
        while self._process.poll() is None:
            assert time.monotonic() < give_up, f"it does not end:\n{self.text}"
            self._read()
        while self._read():
            pass
        return self._process.wait()

    def _read(self) -> bool:
        """Reads new output; returns whether there was any."""
        if not select.select([self._ours], [], [], 0.2)[0]:
            return False
        try:
            raw = os.read(self._ours, 65_536)
        except OSError:
            return False  # the other end is closed
        self._written += raw
        return bool(raw)
