"""Work in a background process, so that it takes no processor time from the process that measures."""

import multiprocessing
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any


@contextmanager
def background_process(work: Callable[..., None], *arguments: Any) -> Iterator["Connection[Any, Any]"]:
    """Runs `work(*arguments, connection)` in a separate process, which is terminated at the end of the context.

    Yields:
        The other end of the connection.
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
