"""Short runs of benchmarks on real parts start several processes each: a run executes the same share of them as of
other proofs, drawn by its seed."""

from pathlib import Path

import pytest

from tests.support.runs.proof import some

HERE = Path(__file__).parent
FEWEST = 2


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    runs = [item for item in items if item.path.is_relative_to(HERE) and _is_short_run(item)]
    left_out = {item.nodeid for item in runs} - {item.nodeid for item in some(runs, FEWEST)}
    config.hook.pytest_deselected(items=[item for item in runs if item.nodeid in left_out])
    items[:] = [item for item in items if item.nodeid not in left_out]


def _is_short_run(item: pytest.Item) -> bool:
    return item.get_closest_marker("proof") is not None and item.get_closest_marker("stack") is not None
