"""One server for all workers of a test run: the first to ask starts it, and leaves last to stop it."""

import fcntl
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from purser.compose.stack.lock import FileLock

Stop = Callable[[], None]


@contextmanager
def shared(directory: Path, name: str, start: Callable[[], tuple[str, Stop]]) -> Iterator[str]:
    """Yield the address of the server `name`.

    Locks are the kernel's, so a worker that crashes neither leaks the server nor stops it under the others.

    Args:
        directory: Common to all workers of the run, and to no other run.
        start: Starts the server and returns its address and how to stop it.
    """
    state = directory / f"{name}.address"
    entry = directory / f"{name}.lock"
    owner = FileLock(directory / f"{name}.owner")
    stop: Stop | None = None
    with (directory / f"{name}.users").open("a") as users:
        with FileLock(entry):
            if owner.try_acquire():
                try:
                    address, stop = start()
                except BaseException:
                    owner.release()
                    raise
                state.write_text(address)
            fcntl.flock(users, fcntl.LOCK_SH)
            address = state.read_text()
        try:
            yield address
        finally:
            fcntl.flock(users, fcntl.LOCK_UN)
            if stop is not None:
                _leave_last(entry, directory / f"{name}.users", stop)
                owner.release()


def _leave_last(entry: Path, users: Path, stop: Stop) -> None:
    while True:
        with FileLock(entry):
            last = FileLock(users)
            if last.try_acquire():
                stop()
                last.release()
                return
        time.sleep(0.05)
