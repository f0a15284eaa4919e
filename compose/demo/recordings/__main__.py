"""`python -m purser.compose.demo.recordings DATA --out DIR`: writes task files and the recordings that answer them."""

import argparse
import json
import sys
from pathlib import Path

from purser.compose.demo.recordings.datasets import MAKERS, make_tasks
from purser.compose.demo.recordings.errors import DatasetError


def main() -> int:
    """Writes `DIR/tasks/*.json` and `DIR/recordings/*.json`; names shortened tasks on stderr."""
    arguments = _arguments()
    try:
        for dataset in arguments.dataset:
            _write(arguments.data, dataset, arguments.count, arguments.provider, arguments.out)
    except (DatasetError, OSError) as error:
        sys.stderr.write(f"recordings: {error}\n")
        return 1
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m purser.compose.demo.recordings", description=__doc__)
    parser.add_argument("data", type=Path, help="folder that holds the data sets")
    parser.add_argument("--out", type=Path, required=True, help="folder to write to")
    parser.add_argument("--count", type=int, default=10, help="tasks per data set (default: 10)")
    parser.add_argument("--dataset", nargs="+", choices=list(MAKERS), default=list(MAKERS), help="default: all")
    parser.add_argument(
        "--provider", default="http://127.0.0.1:4010", help="address of the provider (default: %(default)s)"
    )
    return parser.parse_args()


def _write(data: Path, dataset: str, count: int, provider: str, out: Path) -> None:
    tasks, recordings = out / "tasks", out / "recordings"
    tasks.mkdir(parents=True, exist_ok=True)
    recordings.mkdir(parents=True, exist_ok=True)
    for made in make_tasks(data, dataset, count, provider):
        name = made.recording.name
        (tasks / f"{name}.json").write_text(json.dumps(made.task, indent=2, ensure_ascii=False), encoding="utf-8")
        (recordings / f"{name}.json").write_text(made.recording.model_dump_json(indent=2), encoding="utf-8")
        if made.left_out:
            sys.stderr.write(f"recordings: {name}: the last {made.left_out} agents were left out\n")


if __name__ == "__main__":
    sys.exit(main())
