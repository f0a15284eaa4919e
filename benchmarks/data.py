"""Conversations for benchmarks: one folder per data set, each with `*.jsonl.gz`, one JSON object a line."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from purser.compose.errors import MissingData

Row = dict[str, Any]
"""A conversation: `id`, `lang`, `messages` and further fields of its set."""

_REMEDY = "Name a folder with --data DIR or PURSER_BENCH_DATA; in it a folder per set with *.jsonl.gz files."


def rows(data: Path | None, name: str, having: str = "messages") -> list[Row]:
    """The rows of all files of the set `name` that have the field `having`.

    Raises:
        MissingData: there is no such set, or none of its rows has the field.
    """
    found = [row for row in _read(folder(data) / name) if having in row]
    if not found:
        raise MissingData(f"no rows with {having!r} in {str(folder(data) / name)!r}", remedy=_REMEDY)
    return found


def optional_rows(data: Path | None, name: str) -> list[Row]:
    """The rows of the set `name`, or none if it is not installed."""
    try:
        return rows(data, name)
    except MissingData:
        return []


def conversations(data: Path | None) -> Iterator[tuple[str, Row]]:
    """All conversations of all sets, each with the name of its set."""
    for place in sorted(folder(data).iterdir()):
        yield from ((place.name, row) for row in _read(place) if "messages" in row)


def folder(data: Path | None) -> Path:
    """The folder itself; raises `MissingData` if it is not given or does not exist."""
    if data is None:
        raise MissingData("this benchmark measures on conversations, and no folder of them is named", remedy=_REMEDY)
    if not data.is_dir():
        raise MissingData(f"{str(data)!r} is not a folder", remedy=_REMEDY)
    return data


def _read(place: Path) -> Iterator[Row]:
    for file in sorted(place.glob("*.jsonl.gz")):
        with gzip.open(file, "rt", encoding="utf-8") as lines:
            yield from map(json.loads, lines)
