"""Work in background processes, so that it takes no processor time from the process that measures.

Ctrl-C reaches all processes of a terminal: the one that measures ends the others.
"""

import multiprocessing
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
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
    process = context.Process(target=_work, args=(work, *arguments, theirs))
    process.start()
    theirs.close()
    try:
        yield ours
    finally:
        process.terminate()
        process.join()
        ours.close()


@contextmanager
def background_processes(most: int) -> Iterator[ProcessPoolExecutor]:
    """Up to `most` processes for work that returns a result; an error in the context, such as ctrl-C, cuts it off."""
    with ProcessPoolExecutor(most, multiprocessing.get_context("spawn"), _ignore_ctrl_c) as processes:
        try:
            yield processes
        except BaseException:
            for process in multiprocessing.active_children():
                process.terminate()
            raise


def _work(work: Callable[..., None], *arguments: Any) -> None:
    _ignore_ctrl_c()
    work(*arguments)


def _ignore_ctrl_c() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
