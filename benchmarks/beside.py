"""Work in another process, so that it takes no time from the one that measures."""

import multiprocessing
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any


@contextmanager
def beside(work: Callable[..., None], *arguments: Any) -> Iterator["Connection[Any, Any]"]:
    """Run `work(*arguments, connection)` in a process of its own; ends it at the end.

    Yields:
        The other end of its connection.
    """
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=work, args=(*arguments, theirs))
    process.start()
    theirs.close()
    try:
        yield ours
    finally:
        process.terminate()
        process.join()
        ours.close()
