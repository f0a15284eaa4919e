"""Garbage collection in commands that serve."""

import json
import subprocess
import sys

import pytest

SCRIPT = """
import gc, json
from purser.compose.cli.run_async import freeze_heap
before = gc.get_freeze_count()
freeze_heap()
gc.collect()
print(json.dumps([before, gc.get_freeze_count(), len(gc.get_objects())]))
"""


def test_objects_of_a_serving_process_are_excluded_from_garbage_collection() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    before, frozen, seen = json.loads(done.stdout)
    assert before == 0
    assert frozen > 1_000 > seen


COLLECTIONS = """
import gc, json
from purser.compose.cli.run_async import freeze_heap
freeze_heap()
full = []
gc.callbacks.append(lambda phase, info: phase == "start" and info["generation"] == 2 and full.append(1))
counts, held = [], []
for _ in range(2):
    held.extend([] for _ in range(500_000))
    counts.append(len(full))
print(json.dumps(counts))
"""


def test_half_a_million_new_objects_cause_no_full_collection_but_a_million_do() -> None:
    done = subprocess.run([sys.executable, "-c", COLLECTIONS], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == [0, 1]


SWITCHING = """
import sys
from purser.compose.cli.run_async import until_stopped

async def main(stop):
    print(sys.getswitchinterval())

until_stopped(main)
"""


def test_computing_threads_of_a_serving_process_give_way_to_its_event_loop_soon() -> None:
    done = subprocess.run([sys.executable, "-c", SWITCHING], capture_output=True, text=True, check=True)
    assert float(done.stdout) <= 0.001


HANGING_UP = """
import asyncio, os, signal, sys
from purser.compose.cli.run_async import until_stopped

if sys.argv[1] == "nohup":
    signal.signal(signal.SIGHUP, signal.SIG_IGN)

async def main(stop):
    os.kill(os.getpid(), signal.SIGHUP)
    await asyncio.sleep(0.2)
    print(stop.is_set())

until_stopped(main)
"""


@pytest.mark.parametrize(("started_with", "stops"), [("plain", "True"), ("nohup", "False")])
@pytest.mark.stack
def test_the_end_of_its_terminal_stops_a_command_unless_it_runs_under_nohup(started_with: str, stops: str) -> None:
    done = subprocess.run([sys.executable, "-c", HANGING_UP, started_with], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == stops
