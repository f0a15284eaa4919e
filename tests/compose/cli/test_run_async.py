"""Garbage collection in commands that serve."""

import json
import subprocess
import sys

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
