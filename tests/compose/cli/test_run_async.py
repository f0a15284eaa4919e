"""How commands that serve run."""

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


def test_what_a_serving_process_consists_of_is_out_of_the_collectors_sight() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    before, frozen, seen = json.loads(done.stdout)
    assert before == 0
    assert frozen > 1_000 > seen
