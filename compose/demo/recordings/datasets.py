"""Data sets of recorded conversations: folders with a `dev.jsonl.gz` each, given as an argument, never committed."""

import gzip
import json
from pathlib import Path

from purser.compose.demo.recordings import tau_airline, whowhen
from purser.compose.demo.recordings.errors import DatasetError
from purser.compose.demo.recordings.tasks import RecordedTask, Row

MAKERS = {"tau_airline": tau_airline.make, "whowhen": whowhen.make}


def make_tasks(data: Path, dataset: str, count: int, provider: str) -> list[RecordedTask]:
    """Tasks made of the first rows of a data set in the order of their ids; the result is deterministic.

    Args:
        data: folder that holds the data sets.
        dataset: `tau_airline` or `whowhen`.
        count: maximum number of tasks.
        provider: address of the provider that will serve the recordings, without a path.

    Raises:
        DatasetError: the data set is unknown, absent, or not laid out as expected.
    """
    if dataset not in MAKERS:
        raise DatasetError(f"there is no data set {dataset!r}", remedy=f"choose one of {', '.join(MAKERS)}")
    rows = sorted(_read(data / dataset / "dev.jsonl.gz"), key=lambda row: str(row["id"]))
    # A conversation without an assistant message has no agents to run.
    answered = [row for row in rows if any(message["role"] == "assistant" for message in row["messages"])]
    return [MAKERS[dataset](row, provider.rstrip("/")) for row in answered[:count]]


def _read(path: Path) -> list[Row]:
    try:
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            return [json.loads(line) for line in lines]
    except (OSError, ValueError) as error:
        cause = type(error).__name__
        raise DatasetError(f"{str(path)!r} cannot be read: {cause}", remedy="name the folder of data sets") from error
