"""File locks: exclusive use of a file or directory by one process, released by the kernel when the process dies."""

import fcntl
import os
from pathlib import Path
from types import TracebackType
from typing import IO, Self


def make_private(path: Path) -> None:
    """Create the file if it is missing, and deny other users access: any process that opens it can hold the lock."""
    made = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        os.fchmod(made, 0o600)
    finally:
        os.close(made)


class FileLock:
    """An advisory lock on `path`.

    `acquire` waits, `try_acquire` does not, `is_held` only looks. As a context manager it waits.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: IO[str] | None = None

    def try_acquire(self) -> bool:
        return self._lock(fcntl.LOCK_EX | fcntl.LOCK_NB)

    def acquire(self) -> None:
        self._lock(fcntl.LOCK_EX)

    def is_held(self) -> bool:
        """Whether a process holds the lock; the file is not created."""
        try:
            with self._path.open() as file:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)  # shared: others may ask at the same moment
        except BlockingIOError:
            return True
        except FileNotFoundError:
            pass
        return False

    def release(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def _lock(self, flags: int) -> bool:
        make_private(self._path)
        file = self._path.open("a")
        try:
            fcntl.flock(file, flags)
        except BlockingIOError:
            file.close()
            return False
        self._file = file
        return True

    def __enter__(self) -> Self:
        self.acquire()
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.release()
