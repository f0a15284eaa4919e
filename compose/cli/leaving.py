"""How a command that serves ends its process."""

import os
import sys
from contextlib import suppress
from typing import NoReturn


def leave(code: int) -> NoReturn:
    """End the process with an exit code, once everything is stopped, without running finalizers.

    Python cuts off a daemon thread wherever it is, for example in the middle of an import, and a finalizer may then
    wait for the lock of that import without end. Threads of the Temporal client may abort an interpreter that is being
    finalized (temporalio/sdk-python#300).
    """
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):  # nobody reads it any more
            stream.flush()
    os._exit(code)
