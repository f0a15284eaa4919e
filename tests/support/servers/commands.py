"""The `purser` command inside this process: its entry point, without the start of an interpreter.

`tests/compose/cli/test_processes.py` shows that a process of its own says the same.
"""

import io
import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from unittest.mock import patch

import structlog

from purser.compose.cli import main
from purser.context.tokens import exact
from tests.support.servers.purser import Purser


class Commands(Purser):
    """Runs commands that end by themselves, one at a time, with an environment and a folder of their own."""

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """What a process would have answered."""
        out, err = _stream(), _stream()
        with (
            _as_it_was(),
            patch.dict(os.environ, self.env, clear=True),
            patch.object(sys, "argv", ["purser", *arguments]),
            chdir(self.home),
            redirect_stdout(out),
            redirect_stderr(err),
            ThreadPoolExecutor(1) as thread,  # a command may start an event loop, and the test may have one
        ):
            code = thread.submit(_exit_code).result(120)
        return subprocess.CompletedProcess(["purser", *arguments], code, _text(out), _text(err))


def _exit_code() -> int:
    try:
        main()
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def _stream() -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)


def _text(stream: io.TextIOWrapper) -> str:
    stream.seek(0)
    return stream.read()


@contextmanager
def _as_it_was() -> Iterator[None]:
    """A command may set up logging, and starts without LiteLLM, which a worker of an earlier test may have loaded."""
    root, configured = logging.getLogger(), structlog.get_config()
    handlers, level = root.handlers[:], root.level
    try:
        with patch.object(exact, "_litellm", None):
            yield
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)
        structlog.configure(**configured)
