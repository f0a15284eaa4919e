"""Signals that ask a process to stop."""

import signal
from collections.abc import Coroutine
from threading import current_thread, main_thread
from types import FrameType
from typing import Any, TypeVar

T = TypeVar("T")


def stop_signals() -> tuple[signal.Signals, ...]:
    """Those of ctrl-C and of supervisors, and that of a closed terminal, unless `nohup` has the process ignore it."""
    hung_up = () if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN else (signal.SIGHUP,)
    return (signal.SIGINT, signal.SIGTERM, *hung_up)


async def cancelled_once(work: Coroutine[Any, Any, T]) -> T:
    """Let only the first ctrl-C cancel the main task of `asyncio.run`: another one would cut off its clean-up."""
    cancel = signal.getsignal(signal.SIGINT)  # of the event loop
    if current_thread() is not main_thread() or not callable(cancel):  # ctrl-C cancels nothing here
        return await work

    def cancel_once(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        cancel(number, frame)

    signal.signal(signal.SIGINT, cancel_once)
    try:
        return await work
    finally:
        signal.signal(signal.SIGINT, cancel)
