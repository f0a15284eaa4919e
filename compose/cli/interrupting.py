"""Signals that end a command as ctrl-C does."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread

from purser.compose.cli.output import Interrupted
from purser.compose.signals import stop_signals


@contextmanager
def interrupted_by_signals() -> Iterator[None]:
    """Let SIGTERM and the end of the terminal interrupt what runs inside, as ctrl-C does.

    Only the first signal does: `timeout` sends its own twice, and another interrupt would cut off the clean-up.

    Raises:
        Interrupted: a signal other than that of ctrl-C ended it.
    """
    received = list[signal.Signals]()

    def interrupt(number: int, _: object) -> None:
        received.append(signal.Signals(number))
        if len(received) == 1:
            # An event loop cancels its main task on this one alone, so that all that it opened is closed.
            signal.raise_signal(signal.SIGINT)

    # A shell script starts its background commands with ctrl-C ignored.
    handlers = dict.fromkeys(stop_signals(), interrupt) | {signal.SIGINT: signal.default_int_handler}
    in_main = current_thread() is main_thread()  # Python lets no other thread set handlers
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()} if in_main else {}
    try:
        yield
    except KeyboardInterrupt:
        if received:
            raise Interrupted(f"{received[0].name} ended the command") from None
        raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
