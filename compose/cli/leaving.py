"""How a command that serves ends its process."""

import os
import sys
import threading
from contextlib import suppress
from typing import NoReturn


def leave(code: int) -> NoReturn:
    """End the process with an exit code.

    Python cuts off a daemon thread wherever it is, for example in the middle of an import, and a finalizer may then
    wait for the lock of that import without end. With such a thread no finalizer runs.
    """
    if any(thread.daemon for thread in threading.enumerate()):
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError):  # nobody reads it any more
                stream.flush()
        os._exit(code)
    sys.exit(code)
