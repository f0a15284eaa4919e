"""Ctrl-C, pressed more than once."""

import subprocess
import sys

PRESSED_TWICE = """
import asyncio, os, signal
from purser.compose.signals import cancelled_once

async def work():
    try:
        os.kill(os.getpid(), signal.SIGINT)
        await asyncio.sleep(60)
    finally:
        os.kill(os.getpid(), signal.SIGINT)
        await asyncio.sleep(0.1)
        print("cleaned up", flush=True)

try:
    asyncio.run(cancelled_once(work()))
except KeyboardInterrupt:
    print("interrupted", signal.getsignal(signal.SIGINT) is signal.default_int_handler)
"""


def test_a_second_ctrl_c_does_not_cut_off_the_clean_up_after_the_first() -> None:
    done = subprocess.run([sys.executable, "-c", PRESSED_TWICE], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("cleaned up\ninterrupted True\n", "")
