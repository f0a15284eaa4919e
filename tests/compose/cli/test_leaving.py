"""A process ends although Python cuts off its daemon threads, whatever locks they hold."""

import subprocess
import sys

CUT_OFF = """
import sys, threading, types
from purser.compose.cli.leaving import leave

class Late:
    def __init__(self, lock):
        self.lock = lock

    def __del__(self):
        self.lock.acquire()

def importing():
    lock.acquire()
    taken.set()
    threading.Event().wait()

lock, taken = threading.Lock(), threading.Event()
library = sys.modules["library"] = types.ModuleType("library")
library.late = Late(lock)
threading.Thread(target=importing, daemon=True).start()
taken.wait()
print("all is stopped")
leave(3)
"""


def test_no_finalizer_waits_for_what_a_cut_off_thread_holds() -> None:
    done = subprocess.run([sys.executable, "-c", CUT_OFF], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (3, "all is stopped\n")


def test_nothing_is_finalized_and_all_that_was_printed_arrives() -> None:
    script = "import atexit; from purser.compose.cli.leaving import leave\natexit.register(print, 'finalized')"
    done = subprocess.run(
        [sys.executable, "-c", f"{script}\nprint('report')\nleave(1)"], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout) == (1, "report\n")
