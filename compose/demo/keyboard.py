"""Single key presses from the terminal."""

import asyncio
import os
import sys
import termios
import tty
from collections.abc import Iterator
from contextlib import contextmanager


def is_interactive() -> bool:
    """Whether a person sees stderr and can press keys."""
    return sys.stdin.isatty() and sys.stderr.isatty() and _in_foreground(sys.stdin.fileno())


@contextmanager
def pressed_keys() -> Iterator["asyncio.Queue[str]"]:
    """Keys as they are pressed, without Enter; ctrl-C still interrupts."""
    keyboard, loop = sys.stdin.fileno(), asyncio.get_running_loop()
    keys: asyncio.Queue[str] = asyncio.Queue()
    before = termios.tcgetattr(keyboard)
    tty.setcbreak(keyboard)
    loop.add_reader(keyboard, lambda: keys.put_nowait(os.read(keyboard, 1).decode(errors="ignore").lower()))
    try:
        yield keys
    finally:
        loop.remove_reader(keyboard)
        termios.tcsetattr(keyboard, termios.TCSADRAIN, before)


def _in_foreground(terminal: int) -> bool:
    """Whether this process may read the terminal; a background job that did would be stopped."""
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return True  # this terminal has no job control
