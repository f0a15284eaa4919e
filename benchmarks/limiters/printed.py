"""How a peer reports."""

import asyncio
import json
import sys
from dataclasses import asdict

from purser.benchmarks.limiters.load import Budgets, load


def print_figures(make: Budgets) -> None:
    """Prints what callers saw as one line of JSON. Arguments of the process: the provider's address, seconds."""
    address, seconds = sys.argv[1:]
    found = asyncio.run(load(make, address, float(seconds)))
    sys.stdout.write(f"{json.dumps(asdict(found))}\n")
